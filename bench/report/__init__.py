"""From measured numbers to tables, a picture and the page in docs/."""

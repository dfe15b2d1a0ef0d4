from __future__ import annotations

from textwrap import dedent

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.code.reads import Read, find_reads, variables_of

ENVIRONMENT, STORE, FILE = "reads the environment", "reads a configuration store", "reads a file"
NETWORK, UNSEEN = "reads from the network", "runs code that this check cannot see"


@pytest.mark.parametrize(
    ("source", "what", "variable"),
    [
        pytest.param("import os\nt = os.environ['TEMPERATURE']", ENVIRONMENT, "TEMPERATURE", id="subscript"),
        pytest.param("import os\nt = os.environ.get('TEMPERATURE', 1)", ENVIRONMENT, "TEMPERATURE", id="get"),
        pytest.param("import os\nt = os.getenv('TEMPERATURE')", ENVIRONMENT, "TEMPERATURE", id="getenv"),
        pytest.param("from os import getenv as g\nt = g('X')", ENVIRONMENT, "X", id="renamed-function"),
        pytest.param("from os import environ as e\nt = e['X']", ENVIRONMENT, "X", id="renamed-mapping"),
        pytest.param("import os as o\nt = o.environ['X']", ENVIRONMENT, "X", id="renamed-module"),
        pytest.param("import os\ne = os.environ\nt = e['X']", ENVIRONMENT, "X", id="assigned"),
        pytest.param("import os\nget = os.environ.get\nt = get('X')", ENVIRONMENT, "X", id="assigned-method"),
        pytest.param("import os\nif 'X' in os.environ: pass", ENVIRONMENT, "X", id="membership"),
        pytest.param("import os\nt = os.environ[name]", ENVIRONMENT, None, id="unknown-name"),
        pytest.param("import os\nt = dict(os.environ)", ENVIRONMENT, None, id="all-of-it"),
        pytest.param("import os\nt = getattr(os, 'environ')['X']", ENVIRONMENT, "X", id="by-attribute-name"),
        pytest.param("t = __import__('os').environ['X']", ENVIRONMENT, "X", id="imported-in-place"),
        pytest.param("import os\nt = getattr(os, name)", UNSEEN, None, id="unknown-attribute"),
        pytest.param("import os\nt = os.__dict__['environ']", UNSEEN, None, id="by-the-modules-names"),
        pytest.param("import sys\nt = sys.modules['os'].environ", UNSEEN, None, id="by-the-table-of-modules"),
        pytest.param("from os import *", "imports all names", None, id="all-names"),
        pytest.param("import consul\n", STORE, None, id="consul"),
        pytest.param("from dotenv import load_dotenv\n", STORE, None, id="dotenv"),
        pytest.param("from google.cloud import secretmanager\n", STORE, None, id="secrets"),
        pytest.param("import redis as cache\nt = cache.Redis()", STORE, None, id="redis"),
        pytest.param("import httpx\nt = httpx.get('http://config/temperature')", NETWORK, None, id="http"),
        pytest.param("import urllib.request\nurllib.request.urlopen('x')", NETWORK, None, id="urllib"),
        pytest.param("t = open('/etc/model/temperature').read()", FILE, None, id="open"),
        pytest.param("from pathlib import Path\nt = Path('x').read_text()", FILE, None, id="path"),
        pytest.param("import torch\nt = torch.load('x')", FILE, None, id="torch"),
        pytest.param("import sys\nt = sys.argv[1]", "reads the command line", None, id="arguments"),
        pytest.param("t = eval(text)", UNSEEN, None, id="eval"),
        pytest.param("import subprocess\nsubprocess.run(['env'])", UNSEEN, None, id="subprocess"),
        pytest.param("import ctypes\nctypes.CDLL(None).getenv", UNSEEN, None, id="ctypes"),
    ],
)
def test_each_way_out_is_found(source: str, what: str, variable: str | None) -> None:
    found = find_reads(source, "post.py")

    assert any(read.what.startswith(what) and read.variable == variable for read in found), found


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(scores):\n    return scores / 0.7", id="arithmetic"),
        pytest.param("import torch\ndef f(x):\n    return torch.topk(x, 5).values", id="torch"),
        pytest.param("import os\np = os.path.join('a', 'b')", id="paths-are-no-reads"),
        pytest.param("def f(environ):\n    return environ['X']", id="an-argument-of-that-name"),
        pytest.param("def f(open):\n    return open()", id="a-function-that-was-handed-in"),
        pytest.param("requests = [1, 2]\nn = requests.index(1)", id="a-list-named-like-a-library"),
        pytest.param("class A:\n    def get(self, name): ...\nA().get('X')", id="a-method-of-ones-own"),
        pytest.param("def f(settings, name):\n    return getattr(settings, name)", id="an-attribute-of-an-argument"),
        pytest.param("# os.environ['X']\ns = 'os.environ'", id="comments-and-texts"),
        pytest.param("from .os import environ\nt = environ['X']", id="a-module-of-ones-own"),
    ],
)
def test_what_stays_inside_is_left_alone(source: str) -> None:
    assert find_reads(source, "post.py") == ()


def test_a_finding_names_file_line_and_variable() -> None:
    source = dedent("""\
        import os

        LIMIT = int(os.environ.get("MAX_TOKENS", "256"))

        def scale(scores):
            return scores / float(os.environ["TEMPERATURE"])
        """)

    found = find_reads(source, "post.py")

    assert found == (
        Read("post.py", 3, ENVIRONMENT, "MAX_TOKENS"),
        Read("post.py", 6, ENVIRONMENT, "TEMPERATURE"),
    )
    assert str(found[1]) == "post.py:6: reads the environment variable TEMPERATURE"
    assert variables_of(found) == ("MAX_TOKENS", "TEMPERATURE")


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(Refused, match="nothing can be said of it"):
        find_reads("def f(:", "post.py")
    with pytest.raises(Refused, match="cannot be read as Python"):
        find_reads(b"\0", "post.py")


def test_modules_may_be_known_without_an_import() -> None:
    assert find_reads("x = os.environ['X']", "a.py") == ()
    assert variables_of(find_reads("x = os.environ['X']", "a.py", known={"os": "os"})) == ("X",)
    assert variables_of(find_reads("x = e['X']", "a.py", known={"e": "os.environ"})) == ("X",)

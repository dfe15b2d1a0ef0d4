"""What each rule finds and what it leaves alone, as sources."""

from __future__ import annotations

from textwrap import dedent

import pytest

from inference_dna.doctor.examine import examine_source


def found(source: str) -> list[tuple[int, str]]:
    """Line and rule of each finding."""
    standing = examine_source(dedent(source).strip("\n").encode(), "server.py").standing
    return [(finding.line, finding.rule.value) for finding in sorted(standing)]


GENERATION, CONFIG, MODEL, TOKENIZER = "generation-config", "model-config", "model-state", "tokenizer-state"
ADAPTER, CONTAINER, DEFAULT, GLOBAL = "adapter", "shared-container", "mutable-default", "global-model"
CACHED, SEED, VERSION, ENVIRONMENT = "cached-answer", "global-seed", "version-branch", "environment-branch"


@pytest.mark.parametrize(
    "line",
    [
        "model.generation_config.temperature = temperature",
        "model.generation_config.temperature: float = 0.5",
        "model.generation_config.max_new_tokens += 1",
        "self.model.generation_config.temperature = 0.5",
        "get_model().generation_config.temperature = 0.5",
        "models[name].generation_config.temperature = 0.5",
        "model.generation_config = GenerationConfig(temperature=0.5)",
        "setattr(model.generation_config, name, value)",
        "setattr(model.generation_config, 'top_k', 5)",
        "setattr(model, 'generation_config', config)",
        "object.__setattr__(model.generation_config, 'top_k', 5)",
        "model.generation_config.__setattr__('top_k', 5)",
        "getattr(model, 'generation_config').top_k = 5",
        "model.generation_config.update(**body)",
        "model.generation_config.__dict__.update(body)",
        "model.generation_config.__dict__['top_k'] = 5",
        "vars(model.generation_config)['top_k'] = 5",
        "model.generation_config['top_k'] = 5",
        "del model.generation_config.top_k",
        "a, model.generation_config.top_k = 1, 5",
        "config = model.generation_config; config.top_k = 5",
        "m = get_model(); m.generation_config.top_k = 5",
        "generation_config.top_k = 5",
        "for model.generation_config.top_k in (1, 2): pass",
    ],
)
def test_writes_to_generation_config_are_found(line: str) -> None:
    assert (2, GENERATION) in found(f"def answer(model, generation_config, temperature):\n    {line}")


@pytest.mark.parametrize(
    "source",
    [
        """
        def answer(model, body):
            config = copy.deepcopy(model.generation_config)
            config.temperature = body.temperature
            return model.generate(generation_config=config)
        """,
        """
        def answer(model, body):
            config = GenerationConfig.from_model_config(model.config)
            config.update(**body)
        """,
        """
        def load():
            model = AutoModelForCausalLM.from_pretrained("m")
            model.generation_config.pad_token_id = 0
            return model
        """,
        """
        model = AutoModelForCausalLM.from_pretrained("m")
        model.generation_config.pad_token_id = 0
        """,
        """
        class Server:
            def __init__(self):
                self.model = AutoModelForCausalLM.from_pretrained("m")
                self.model.generation_config.pad_token_id = 0
        """,
        """
        def answer(model):
            return model.generate(temperature=0.5, **model.generation_config.to_dict())
        """,
        """
        class Settings:
            def __init__(self, generation_config):
                self.generation_config = generation_config
        """,
        """
        def setup_model(model):
            model.generation_config.pad_token_id = 0
        """,
        '''
        """model.generation_config.temperature = 0.5"""
        # model.generation_config.temperature = 0.5
        text = "model.generation_config.temperature = 0.5"
        ''',
    ],
)
def test_values_of_ones_own_and_set_up_are_left_alone(source: str) -> None:
    assert found(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "cfg = GenerationConfig(top_k=5)\ndef f(x):\n    cfg.top_k = x",
        "SAMPLING = SamplingParams()\ndef f(x):\n    SAMPLING.temperature = x",
    ],
)
def test_settings_that_the_file_shares_are_settings_too(source: str) -> None:
    assert found(source) == [(3, GENERATION)]


def test_default_arguments_of_a_server_are_its_models() -> None:
    source = """
    class Server:
        def __init__(self):
            self.model = load()
            self.gen_kwargs = {}
        def answer(self, body):
            self.gen_kwargs.update(body)
            self.gen_kwargs["top_k"] = 5
    """
    assert found(source) == [(6, MODEL), (7, MODEL)]


def test_a_write_by_a_file_that_did_not_make_the_model_is_found() -> None:
    assert found("from app import model\nmodel.generation_config.top_k = 5") == [(2, GENERATION)]


def test_a_model_made_around_a_handler_is_shared_by_the_time_it_runs() -> None:
    source = """
    def create_app():
        model = AutoModelForCausalLM.from_pretrained("m")
        @app.post("/")
        def answer(body):
            model.generation_config.top_k = body.top_k
    """
    assert found(source) == [(5, GENERATION)]


def test_a_set_up_that_takes_a_request_is_none() -> None:
    assert found("def init_chat(model, request):\n    model.generation_config.top_k = request.k") == [(2, GENERATION)]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("model.config.use_cache = False", CONFIG),
        ("self.model.config.max_length = n", CONFIG),
        ("model.config.update({'a': 1})", CONFIG),
        ("tokenizer.padding_side = 'left'", TOKENIZER),
        ("self.tok.padding_side = 'left'", TOKENIZER),
        ("t.truncation_side = 'left'", TOKENIZER),
        ("tokenizer.pad_token = tokenizer.eos_token", TOKENIZER),
        ("tokenizer.chat_template = template", TOKENIZER),
        ("tokenizer.init_kwargs['x'] = 1", TOKENIZER),
        ("tokenizer.add_tokens(['<x>'])", TOKENIZER),
        ("t.add_special_tokens({'pad_token': 'x'})", TOKENIZER),
        ("t.enable_truncation(5)", TOKENIZER),
        ("setattr(tokenizer, 'padding_side', 'left')", TOKENIZER),
        ("model.past_key_values = out.past_key_values", MODEL),
        ("model.inputs = inputs", MODEL),
        ("setattr(model, 'past_key_values', out)", MODEL),
        ("model._cache[key] = out", MODEL),
        ("model.history.append(text)", MODEL),
        ("model.__dict__['last_inputs'] = ids", MODEL),
        ("vars(model)['last_inputs'] = ids", MODEL),
        ("model.anything = 1", MODEL),
        ("model.resize_token_embeddings(5)", MODEL),
        ("model.set_adapter('poet')", ADAPTER),
        ("model.enable_adapters()", ADAPTER),
        ("model.disable_adapter_layers()", ADAPTER),
        ("model.load_adapter('p', adapter_name='poet')", ADAPTER),
        ("torch.manual_seed(seed)", SEED),
        ("torch.cuda.manual_seed_all(seed)", SEED),
        ("random.seed(seed)", SEED),
        ("np.random.seed(seed)", SEED),
        ("source = np.random; source.seed(seed)", SEED),
        ("transformers.set_seed(seed)", SEED),
        ("set_seed(seed)", SEED),
        ("from transformers.trainer_utils import set_seed as s; s(1)", SEED),
    ],
)
def test_what_all_requests_share_is_guarded(line: str, rule: str) -> None:
    imports = "import torch, random, transformers\nimport numpy as np\nfrom transformers import set_seed"

    assert found(f"{imports}\ndef answer(x):\n    {line}") == [(5, rule)]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        pytest.param("import app_state as s\ndef answer(m):\n    s.history.append(m)", 3, id="of-an-imported-module"),
        pytest.param("from a import s\ndef answer(m):\n    s.sessions[m.id] = m", 3, id="of-an-imported-object"),
        pytest.param("from a import s\ndef answer(m):\n    s.CACHE[m.id] = m", 3, id="a-constant-of-another-file"),
        pytest.param("def answer(m):\n    globals()['kv'] = m", 2, id="globals"),
        pytest.param("def answer(m):\n    globals().update(kv=m)", 2, id="globals-by-method"),
        pytest.param("def answer(m):\n    answer.history = [m]", 2, id="on-the-function-itself"),
        pytest.param("def answer(m):\n    answer.messages.append(m)", 2, id="on-the-function-itself-by-method"),
        pytest.param(
            "def create_app():\n    seen = []\n    @app.post('/')\n    def answer(m):\n        seen.append(m)",
            5,
            id="around-a-handler",
        ),
    ],
)
def test_what_outlives_a_request_somewhere_else_is_found(source: str, line: int) -> None:
    assert found(source) == [(line, CONTAINER)]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from flask import session\ndef answer(m):\n    session['m'] = m", id="flasks-session"),
        pytest.param(
            "import streamlit as st\ndef page(m):\n    st.session_state['messages'] = []", id="streamlits-session"
        ),
        pytest.param("def __getattr__(name):\n    globals()[name] = load(name)", id="a-lazy-import"),
        pytest.param("import os\ndef answer(m):\n    os.environ['A'] = m", id="no-memory"),
        pytest.param("from a import client\ndef answer(m):\n    client.session.headers.update(m)", id="further-inside"),
        pytest.param("def tree(m):\n    out = []\n    def visit(x):\n        out.append(x)", id="inside-one-call"),
        pytest.param(
            "def create_app():\n    seen = []\n    @app.post('/')\n    def answer(m, seen):\n        seen.append(m)",
            id="the-handlers-own",
        ),
    ],
)
def test_what_belongs_to_one_request_or_to_none_is_left_alone(source: str) -> None:
    assert found(source) == []


@pytest.mark.parametrize(
    "line",
    [
        "app.config['X'] = 1",
        "self.config.x = 1",
        "self.padding_side = side",
        "model_name.x = 1",
        "ids = tokenizer(text, padding=True, truncation=True)",
        "with model.disable_adapter(): pass",
        "generator = torch.Generator().manual_seed(5)",
        "rng = random.Random(5); rng.seed(6)",
        "rng = np.random.default_rng(5)",
        "past_key_values = model(ids).past_key_values",
        "row.padding = 'x'",
        "vocabulary.add_tokens(x)",
    ],
)
def test_what_is_ones_own_is_left_alone(line: str) -> None:
    assert found(f"import torch, random\nimport numpy as np\ndef answer(self):\n    {line}") == []


def test_an_orm_model_is_no_language_model() -> None:
    assert found("def save(model):\n    model.status = 'new'\n    model.save()") == []


def test_an_adapter_that_is_switched_back_is_left_alone() -> None:
    source = """
    def answer(model, name):
        model.set_adapter(name)
        try:
            return model.generate()
        finally:
            model.set_adapter("default")
    """
    assert found(source) == []


def test_seeds_before_requests_are_left_alone() -> None:
    assert found("import torch\ntorch.manual_seed(0)\ndef main():\n    torch.manual_seed(1)") == []


@pytest.mark.parametrize(
    ("source", "places"),
    [
        pytest.param("H = []\ndef f(x):\n    H.append(x)", [(3, CONTAINER)], id="list"),
        pytest.param("H = {}\ndef f(x):\n    H[x] = 1", [(3, CONTAINER)], id="item"),
        pytest.param("H = {}\ndef f(x):\n    H[x].append(1)", [(3, CONTAINER)], id="list-inside"),
        pytest.param("H = {}\ndef f(x):\n    H.setdefault(x, []).append(1)", [(3, CONTAINER)], id="setdefault"),
        pytest.param(
            "import collections as c\nH = c.defaultdict(list)\ndef f(x):\n    H[x] += [1]",
            [(4, CONTAINER)],
            id="defaultdict",
        ),
        pytest.param("H: list[str] = []\ndef f(x):\n    global H\n    H += [x]", [(4, CONTAINER)], id="in-place"),
        pytest.param("H = []\ndef f(x):\n    h = H\n    h.append(x)", [(4, CONTAINER)], id="by-another-name"),
        pytest.param("H = []\nasync def f(x):\n    def g():\n        H.append(x)", [(4, CONTAINER)], id="closure"),
        pytest.param("H = []\nclass A:\n    def f(self, x):\n        H.append(x)", [(4, CONTAINER)], id="method"),
        pytest.param(
            "class A:\n    h = []\n    def f(self, x):\n        self.h.append(x)", [(4, CONTAINER)], id="of-a-class"
        ),
        pytest.param(
            "class A:\n    h = {}\n    def f(self, x):\n        A.h[x] = 1", [(4, CONTAINER)], id="by-the-class"
        ),
        pytest.param("from a import HISTORY\ndef f(x):\n    HISTORY.append(x)", [(3, CONTAINER)], id="of-another-file"),
        pytest.param("from .a import cache\ndef f(x):\n    cache[x] = 1", [(3, CONTAINER)], id="item-of-another-file"),
        pytest.param("from a import session\ndef f(x):\n    session.add(x)", [], id="a-database"),
        pytest.param("def f(x):\n    app.state.seen.append(x)", [(2, CONTAINER)], id="of-the-application"),
        pytest.param("def f(request, x):\n    request.app.state.h[x] = 1", [(2, CONTAINER)], id="by-the-request"),
        pytest.param("def f(state, x):\n    state.seen.append(x)", [], id="a-state-of-ones-own"),
        pytest.param("H = ('a',)\ndef f(x):\n    return H + (x,)", [], id="constant"),
        pytest.param("H = []\ndef f(x):\n    return x in H", [], id="only-read"),
        pytest.param("H = []\nH.append(1)", [], id="filled-at-import"),
        pytest.param("H = []\ndef f(x):\n    H = []\n    H.append(x)", [], id="a-local-one"),
        pytest.param("H = []\ndef f(H):\n    H.append(1)", [], id="a-parameter"),
        pytest.param("REGISTRY = {}\ndef register(f):\n    REGISTRY[f] = f", [], id="registry"),
        pytest.param(
            "class A:\n  h = []\n  def __init__(self):\n    self.h = []\n  def f(self):\n    self.h.append(1)",
            [],
            id="own",
        ),
        pytest.param(
            "@dataclass\nclass A:\n  h: list = field(default_factory=list)\n  def f(self):\n    self.h.append(1)",
            [],
            id="dataclass",
        ),
        pytest.param("def f(x, h=[]):\n    h.append(x)", [(2, DEFAULT)], id="default"),
        pytest.param("def f(x, *, h={}):\n    h[x] = 1", [(2, DEFAULT)], id="named-default"),
        pytest.param("def f(x, h=list()):\n    h += [x]", [(2, DEFAULT)], id="default-in-place"),
        pytest.param("def f(x, h=[]):\n    return x in h", [], id="default-only-read"),
        pytest.param("def f(x, h=[]):\n    h = list(h)\n    h.append(x)", [], id="default-replaced"),
        pytest.param("def f(x, h=None):\n    h = h or []\n    h.append(x)", [], id="no-default"),
        pytest.param("model = None\ndef get():\n    global model\n    model = load()", [(4, GLOBAL)], id="global"),
        pytest.param(
            "def get():\n    global model, tokenizer\n    model, tokenizer = load()", [(3, GLOBAL)], id="globals"
        ),
        pytest.param("def get():\n    global model\n    with lock:\n        model = load()", [], id="under-a-lock"),
        pytest.param(
            "h = ''\ndef f(x):\n    global chat_history\n    chat_history += x", [(4, CONTAINER)], id="a-text"
        ),
        pytest.param("def f(x):\n    global last_ids\n    last_ids = x", [(3, CONTAINER)], id="the-last-one"),
        pytest.param("def get():\n    global count\n    count = 1", [], id="no-model"),
        pytest.param("@app.on_event('startup')\ndef f():\n    global model\n    model = load()", [], id="at-start"),
        pytest.param(
            "from functools import lru_cache\n@lru_cache(maxsize=9)\ndef generate(text):\n    pass",
            [(3, CACHED)],
            id="cache",
        ),
        pytest.param(
            "import functools\n@functools.cache\ndef f(text):\n    return model.generate(text)",
            [(3, CACHED)],
            id="cache-by-body",
        ),
        pytest.param(
            "from functools import lru_cache\n@lru_cache\ndef get_model():\n    return load()", [], id="cached-load"
        ),
        pytest.param(
            "class S:\n def __init__(self):\n  self.model = load()\n def f(self, out):\n  self.past_key_values = out",
            [(5, MODEL)],
            id="beside-the-model",
        ),
        pytest.param("class S:\n    def f(self, out):\n        self.past_key_values = out", [], id="a-session"),
    ],
)
def test_memory_between_requests(source: str, places: list[tuple[int, str]]) -> None:
    assert found(source) == places


@pytest.mark.parametrize(
    ("source", "places"),
    [
        pytest.param(
            "def f(t, version):\n    if version.startswith('v2'):\n        t = t.lower()",
            [(2, VERSION)],
            id="startswith",
        ),
        pytest.param(
            "def f(t):\n    return t.lower() if self.model_version.startswith('2') else t", [(2, VERSION)], id="ternary"
        ),
        pytest.param(
            "def f(t, version):\n    if version == 'v2.4.0':\n        t = t.lower()", [(2, VERSION)], id="equal"
        ),
        pytest.param(
            "def f(t, version):\n    if version in ('v2', 'v3'):\n        t = t.lower()", [(2, VERSION)], id="one-of"
        ),
        pytest.param("def f(t, version):\n    match version:\n        case 'v2': pass", [(2, VERSION)], id="match"),
        pytest.param("import sys\nif sys.version.startswith('3'):\n    pass", [], id="interpreter"),
        pytest.param("import torch\nif torch.__version__.startswith('2'):\n    pass", [], id="library"),
        pytest.param("def f(api_version):\n    if api_version == 'v1': pass", [], id="api"),
        pytest.param(
            "import os\nV = os.environ['MODEL_VERSION']\ndef f(t):\n    if V.startswith('v2'): pass",
            [(2, ENVIRONMENT), (4, VERSION)],
            id="from-the-environment",
        ),
        pytest.param("import os\ndef f(t):\n    if os.getenv('STRIP_TEXT'): pass", [(3, ENVIRONMENT)], id="switch"),
        pytest.param(
            "import os\ndef postprocess(t):\n    if os.environ.get('X'): pass",
            [(3, ENVIRONMENT)],
            id="in-post-processing",
        ),
        pytest.param(
            "import os\ndef f():\n    model.generate(temperature=float(os.environ['T']))",
            [(3, ENVIRONMENT)],
            id="argument",
        ),
        pytest.param("import os\nTEMPERATURE = float(os.environ.get('T', 1))", [(2, ENVIRONMENT)], id="constant"),
        pytest.param(
            "import os\nPORT = int(os.environ['PORT'])\nif os.environ.get('DEBUG'): pass", [], id="port-and-debug"
        ),
        pytest.param("import os\nMODEL = load(os.environ['MODEL_PATH'])", [], id="where-the-model-lies"),
    ],
)
def test_labels_that_choose(source: str, places: list[tuple[int, str]]) -> None:
    assert found(source) == places


def test_a_comment_with_a_reason_silences_its_line() -> None:
    source = """
    def f(x):
        torch.manual_seed(1)  # dna: allow global-seed one process per request
        # dna: allow global-seed: one process per request
        torch.manual_seed(2)
        torch.manual_seed(3)
    """
    sifted = examine_source(dedent(source).strip("\n").encode(), "a.py")

    assert [finding.line for finding in sifted.standing] == [5]
    assert [(finding.line, reason) for finding, reason in sifted.allowed] == [
        (2, "one process per request"),
        (4, "one process per request"),
    ]


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# dna: allow global-seed", "no reason is given for global-seed"),
        ("# dna: allow seeds because", "'seeds' is no rule"),
        ("# dna: allow", "'' is no rule"),
        ("# dna: allow adapter it is another rule", ""),
    ],
)
def test_a_comment_that_says_too_little_silences_nothing(comment: str, says: str) -> None:
    standing = examine_source(f"def f(x):\n    torch.manual_seed(1)  {comment}\n".encode(), "a.py").standing

    assert (2, "global-seed") in [(finding.line, finding.rule.value) for finding in standing]
    assert [finding.what for finding in standing if finding.rule == "allow"] == (
        [f"the comment silences nothing: {says}"] if says else []
    )


def test_the_same_words_in_a_text_silence_nothing() -> None:
    assert found("def f(x):\n    torch.manual_seed('# dna: allow global-seed reason')") == [(2, "global-seed")]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (b"def f(:", "it is no Python: invalid syntax"),
        (b"x = '\xff'", "it is no Python"),
        (b"# coding: no-such\nx = 1", "it is no Python"),
        (b"x = 1\x00", "it is no Python"),
        (b"x = " + b"(" * 5000 + b")" * 5000, "it"),
        (b"x = " + b"-" * 100_000 + b"1", "it"),
    ],
)
def test_what_cannot_be_read_is_a_finding(source: bytes, says: str) -> None:
    (finding,) = examine_source(source, "a.py").standing

    assert finding.rule == "unreadable"
    assert finding.what.startswith(says)


def test_another_encoding_is_read_as_python_reads_it() -> None:
    source = "# -*- coding: latin-1 -*-\ndef f(modèle):\n    modèle.generation_config.x = 'é'\n".encode("latin-1")

    assert [finding.line for finding in examine_source(source, "a.py").standing] == [3]


def test_each_finding_says_why_and_what_to_do() -> None:
    (finding,) = examine_source(b"def f(model):\n    model.generation_config.top_k = 5\n", "a.py").standing

    assert finding.what == "model.generation_config.top_k is written to"
    assert finding.why.endswith(".")
    assert "generate() as arguments" in finding.do

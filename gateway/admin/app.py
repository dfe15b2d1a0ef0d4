"""The admin port: health, metrics, status, explanations and the operator's confirmation. Never on a request's path.

Everything it shows is handed to it. What is long is built in a thread, on values that do not change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.exceptions import HTTPException

from gateway.admin.models import Confirmation, Explanation, Live, Models, Problem, Pruned, Ready, Status
from gateway.admin.page import docs_page
from gateway.admin.status import Moment, Seen, models_of, status_of
from gateway.control.catalogue import Choice
from gateway.control.documents import Documents
from gateway.control.standing import InstanceKey, Tracked
from gateway.control.watcher import NothingReadable, SourceState
from gateway.routing.asking import RouteRequest
from gateway.routing.explain import explain
from gateway.routing.snapshot import Instance, Snapshot
from gateway.sharing.state import SharingState
from gateway.sources.consul.rights import Rights


class FleetView(Protocol):
    """What the admin port reads of the fleet."""

    def current(self) -> Snapshot:
        """Give the snapshot in force."""
        ...

    @property
    def documents(self) -> Documents:
        """The documents and their states."""
        ...

    @property
    def choice(self) -> Choice:
        """What the catalogue lists, and which instances that gives."""
        ...

    @property
    def tracked(self) -> Mapping[InstanceKey, Tracked]:
        """Every instance with what is known of it."""
        ...


@dataclass(frozen=True, slots=True)
class AdminParts:
    """Everything the admin port shows.

    Attributes:
        gateway: Name of this gateway.
        program: Version of this program.
        compiled: Whether the way of a request is compiled.
        fleet: Documents, instances, snapshot.
        source: Says what is known of the source of documents.
        prune: Lets missing documents go; raises `NothingReadable`.
        registry: All metrics.
        in_flight: Requests an instance is answering.
        draining: Says whether the process is on its way out.
        now: Monotonic clock.
        wall: Epoch clock.
        draw: Uniform in [0, 1).
        started: Epoch second of the start.
        signers: Ids of the keys of which one must have signed every document; empty where none need be signed.
        sharing: Says how verdicts are shared; None where they are not.
        rights: Says whose token Consul is read with; None where documents do not come from it.
        dead_loops: Names the loops in the background that are dead.
    """

    gateway: str
    program: str
    compiled: bool
    fleet: FleetView
    source: Callable[[], SourceState]
    prune: Callable[[], Awaitable[tuple[str, ...]]]
    registry: CollectorRegistry
    in_flight: Callable[[Instance], int]
    draining: Callable[[], bool]
    now: Callable[[], float]
    wall: Callable[[], float]
    draw: Callable[[], float]
    started: float
    signers: tuple[str, ...] = ()
    sharing: Callable[[], SharingState | None] = lambda: None
    rights: Callable[[], Rights | None] = lambda: None
    dead_loops: Callable[[], tuple[str, ...]] = tuple

    def ready(self) -> tuple[bool, str]:
        """Say whether clients should be sent here, and why not."""
        if self.draining():
            return False, "draining"
        source = self.source()
        if not source.has_documents:
            problems = "; ".join(source.problems)
            return False, f"no good read of {source.place} yet{': ' if problems else ''}{problems}"
        return True, ""

    def seen(self) -> Seen:
        """Take everything the status shows at this moment."""
        moment = Moment(self.now(), self.wall(), self.started)
        fleet = self.fleet
        return Seen(
            fleet.current(),
            fleet.documents,
            fleet.choice,
            dict(fleet.tracked),
            self.source(),
            moment,
            sharing=self.sharing(),
            rights=self.rights(),
        )


# FastAPI's own telemetry would double ours, and its logs hold exception texts (operations.md section 3).
_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_NO_STORE = {"cache-control": "no-store"}
_PROBLEMS: dict[int | str, dict[str, Any]] = {400: {"model": Problem}, 409: {"model": Problem}, 422: {"model": Problem}}


def admin_app(admin: AdminParts) -> FastAPI:
    """Make the application of the admin port."""
    app = FastAPI(
        title="DNA Gateway",
        version=admin.program,
        docs_url=None,
        redoc_url=None,
        telemetry=_TELEMETRY,
        max_body_size=64 * 1024,
        exception_handlers={HTTPException: _http_problem, RequestValidationError: _validation_problem},
    )
    _add_health(app, admin)
    _add_views(app, admin)
    _add_control(app, admin)
    _add_pages(app)
    return app


def _add_health(app: FastAPI, admin: AdminParts) -> None:
    @app.head("/livez", include_in_schema=False)
    @app.get("/livez", tags=["health"], response_model_exclude_none=True, responses={503: {"model": Live}})
    async def livez(response: Response) -> Live:
        """Say that the process runs, and every loop in its background too: a dead one needs a restart."""
        dead = admin.dead_loops()
        response.headers.update(_NO_STORE)
        if not dead:
            return Live()
        response.status_code = 503
        reason = f"dead for five minutes: {', '.join(dead)}; requests are still answered. Restart the gateway"
        return Live(status="failing", reason=reason)

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", tags=["health"], responses={503: {"model": Ready}})
    async def readyz(response: Response) -> Ready:
        """Say whether clients should be sent here: documents were read once, and the process is not draining."""
        ready, reason = admin.ready()
        response.status_code = 200 if ready else 503
        response.headers.update(_NO_STORE)
        return Ready(ready=ready, reason=reason, generation=admin.fleet.current().generation)

    @app.get("/metrics", tags=["health"], response_class=Response)
    async def metrics(request: Request) -> Response:
        """Give all metrics, in Prometheus' text or OpenMetrics, as asked."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(await asyncio.to_thread(encode, admin.registry), media_type=content_type)


def _add_views(app: FastAPI, admin: AdminParts) -> None:
    @app.get("/status", tags=["views"])
    async def status(response: Response) -> Status:
        """Show documents and instances with their states and reasons, what is amiss first."""
        response.headers.update(_NO_STORE)
        seen, (ready, _) = admin.seen(), admin.ready()
        return await asyncio.to_thread(
            status_of,
            seen,
            gateway=admin.gateway,
            program=admin.program,
            compiled=admin.compiled,
            ready=ready,
            draining=admin.draining(),
            in_flight=admin.in_flight,
            signers=admin.signers,
        )

    @app.get("/models", tags=["views"])
    async def models() -> Models:
        """Show every model with its versions, aliases and canary rules."""
        return await asyncio.to_thread(models_of, admin.fleet.current())

    @app.get("/explain", tags=["views"], response_model_exclude_unset=True)
    async def explain_request(
        model: Annotated[str | None, Query(description="Model id; left out: the only one there is.")] = None,
        preference: Annotated[str | None, Query(description="Selector, as X-Model-Preference. Write + as %2B.")] = None,
        dna_prefix: Annotated[str | None, Query(description="As X-Inference-DNA-Prefix.")] = None,
        sticky: Annotated[str | None, Query(description="The sticky key; left out: one is drawn.")] = None,
        dna: Annotated[str | None, Query(description="The wished DNA, as X-Inference-DNA.")] = None,
    ) -> Explanation:
        """Tell which decision such a request would get, with the reason for every candidate. Nothing is sent."""
        request = RouteRequest(
            model_id=model,
            selectors=() if preference is None else (preference,),
            dna_prefix=dna_prefix,
            dna_wish=dna,
            sticky_key=sticky if sticky is not None else f"drawn-{admin.draw()}",
        )
        told = explain(admin.fleet.current(), request, in_flight=admin.in_flight, draw=admin.draw(), now=admin.now())
        return Explanation.model_validate({**told, "sticky_given": sticky is not None})


def _add_control(app: FastAPI, admin: AdminParts) -> None:
    @app.post("/documents/prune", tags=["control"], responses=_PROBLEMS)
    async def prune(confirmation: Confirmation) -> Pruned:
        """Let go of every document that is missing: the operator confirms that it is gone."""
        if not confirmation.confirm:
            raise HTTPException(400, 'nothing was removed: send {"confirm": true}')
        try:
            removed = await admin.prune()
        except NothingReadable as error:
            raise HTTPException(409, str(error)) from error
        return Pruned(removed=list(removed), generation=admin.fleet.current().generation)


def _add_pages(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        """Show what this port offers."""
        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        """Lead to the documentation."""
        return RedirectResponse("docs")


# errors ---------------------------------------------------------------------------------------------------------------


async def _http_problem(request: Request, error: HTTPException) -> JSONResponse:
    del request
    return _problem(error.status_code, str(error.detail), error.headers)


async def _validation_problem(request: Request, error: RequestValidationError) -> JSONResponse:
    del request
    sentences = [f"{'/'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    return _problem(422, "; ".join(sentences))


_TITLES = {
    400: ("Bad request", "bad_request"),
    404: ("Not found", "path_not_found"),
    405: ("Method not allowed", "method_not_allowed"),
    409: ("Conflict", "conflict"),
    413: ("Body too large", "payload_too_large"),
    422: ("Input invalid", "input_invalid"),
}


def _problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    title, code = _TITLES.get(status, ("Error", "error"))
    body = Problem(
        type=f"urn:inference-gateway:{code}", title=title, status=status, detail=detail, code=code
    ).model_dump()
    return JSONResponse(body, status, headers, media_type="application/problem+json")

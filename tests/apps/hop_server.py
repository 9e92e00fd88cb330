"""A service with an agent of its own; OpenTelemetry's instrumentation of FastAPI is on."""

from __future__ import annotations

import sys

import uvicorn
from fastapi import FastAPI
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

import mastwatch

app = FastAPI()


@app.get("/depth")
def depth() -> str:
    with mastwatch.run("sounding", task="How deep is it?"):
        with mastwatch.tool("lead", {"at": "bar"}, agent="Leadsman") as call:
            call.result = "four"
        mastwatch.message("Leadsman", "It is four metres deep.")
    mastwatch.flush()
    return "four"


FastAPIInstrumentor.instrument_app(app)
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")

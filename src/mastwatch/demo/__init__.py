"""The demo: real AG2 and LangGraph apps on scripted offline models, watched live."""

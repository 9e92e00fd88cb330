"""Dashboards and alerts: the files that ship, and how to try them against a live Prometheus.

Panels and rules are written in Python on the table of metric names. The rules are generated here,
so that they can be exported with other windows and thresholds; the dashboards' JSON needs
grafana-foundation-sdk to be generated (``dashboards/generator``) and ships as files.
"""

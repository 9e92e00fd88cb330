"""Writes what ``dashboards/`` ships: ``python dashboards/generator`` from a clone.

Needs grafana-foundation-sdk, a development dependency; mastwatch itself ships the result.
"""

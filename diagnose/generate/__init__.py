"""Declarations rendered as files: recording rules, alerts, their tests, runbook headers."""

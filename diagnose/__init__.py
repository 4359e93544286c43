"""Diagnosis of slow vLLM and SGLang servers: what to change next, and why."""

__version__ = "0.1.0"

"""Live endpoints: scrapes, facts, and one clear line for each way in which an endpoint gives nothing."""

from __future__ import annotations

import gzip
import http.server
import itertools
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from servers import free_port, http_server, raw_server, reply

from diagnose.errors import SourceError, UsageError
from diagnose.model import Fact
from diagnose.sources.endpoint import HttpOptions, observe, target_of
from diagnose.sources.polling import moments

RUN = "vllm:num_requests_running"
KEEP = frozenset({RUN})
BODY = f'# TYPE {RUN} gauge\n{RUN}{{engine="0"}} 5.0\npython_info 1\n'
QUICK = HttpOptions(connect_timeout=1.0, total_timeout=0.5)


def no_facts(answer: object, where: str, run: str) -> tuple[Fact, ...]:
    return ()


def failure(url: str, options: HttpOptions = QUICK) -> str:
    """The one line of an observation that gives nothing."""
    with pytest.raises(SourceError) as error:
        observe([url], window=0.01, options=options, keep=KEEP)
    line = str(error.value)
    assert "\n" not in line
    assert error.value.hint
    assert error.value.exit_code == 3
    return line


def test_scrapes_and_facts_of_a_live_engine() -> None:
    counts = itertools.count(1)
    routes = {
        "/metrics": lambda h: reply(BODY.replace("5.0", str(next(counts))))(h),
        "/version": reply('{"version": "0.32.0"}'),
        "/v1/models": reply("no json"),
    }
    asked: list[tuple[str, str]] = []

    def parse_info(answer: object, where: str, run: str) -> tuple[Fact, ...]:
        asked.append((where, str(answer)))
        return (Fact("engine_version", "0.32.0", "server_info", where, run),)

    with http_server(routes) as url:
        seen = observe([url], window=0.05, options=HttpOptions(), keep=KEEP, parse_info=parse_info)
    name = url.removeprefix("http://")
    assert [(s.target, s.samples[RUN][0][1], s.foreign) for s in seen.scrapes] == [
        (name, 1.0, {"python": 1}),
        (name, 2.0, {"python": 1}),
    ]
    assert seen.scrapes[0].time < seen.scrapes[1].time
    assert asked == [(f"{name}/version", "{'version': '0.32.0'}")]
    assert seen.facts[0].run == name
    assert not seen.missing


def test_facts_come_from_the_servers_answers_by_default() -> None:
    with http_server({"/metrics": reply(BODY), "/version": reply('{"version": "0.32.0"}')}) as url:
        seen = observe([url], window=0, options=HttpOptions(), keep=KEEP)
    assert [(f.id, f.value) for f in seen.facts if f.id == "engine_version"] == [("engine_version", "0.32.0")]


@pytest.mark.parametrize(
    ("text", "name", "url"),
    [
        ("host:8000", "host:8000", "http://host:8000/metrics"),
        ("http://host", "host:80", "http://host/metrics"),
        ("https://host/metrics", "host:443", "https://host/metrics"),
        ("http://host:1/a/metrics/", "host:1/a", "http://host:1/a/metrics"),
        ("http://u:p@host:1/a", "host:1/a", "http://u:p@host:1/a/metrics"),
        ("[::1]:8000", "[::1]:8000", "http://[::1]:8000/metrics"),
    ],
)
def test_target_names(text: str, name: str, url: str) -> None:
    target = target_of(text)
    assert (target.name, target.url) == (name, url)
    assert "u:p" not in target.url_shown


@pytest.mark.parametrize("text", ["http://", "ftp://host", "http://host:99999", "http://[::1", "http://a b/"])
def test_bad_urls_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        target_of(text)


def test_moments_of_a_window() -> None:
    assert moments(0) == (0.0,)
    assert moments(2) == (0.0, 2)
    assert moments(15) == (0.0, 5.0, 10.0, 15)
    assert moments(12) == (0.0, 5.0, 12)
    assert len(moments(3600)) <= 25


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (reply("oops", 500), "HTTP 500"),
        (reply("nope", 404), "HTTP 404"),
        (reply("who", 401), "HTTP 401"),
        (reply("who", 403), "HTTP 403"),
        (reply("", 200), "empty"),
        (reply("<html><body>Sign in</body></html>"), "HTML"),
        (reply('{"object": "list"}'), "JSON"),
        (reply(bytes(range(256)) * 8), "binary"),
        (reply("hello\n"), "no metric samples"),
        (reply(b"\x1f\x8b broken", Content_Encoding="gzip"), "gzip"),
        (reply("", 302, Location="http://login.example/"), "redirects to http://login.example"),
        (reply("", 302, Location="/metrics"), "redirects"),
    ],
)
def test_useless_answers_are_one_clear_line(route: object, words: str) -> None:
    with http_server({"/metrics": route}) as url:  # type: ignore[dict-item]
        assert words in failure(url)


def test_refused_and_unknown_hosts() -> None:
    assert "connection refused" in failure(f"127.0.0.1:{free_port()}")
    assert "not found" in failure("http://no-such-host.invalid:8000", HttpOptions(total_timeout=20.0))


@pytest.mark.parametrize(
    ("start", "drip", "words"),
    [
        (b"", b"", "no answer within 0.5 s"),
        (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", "no answer within 0.5 s"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", b"a 1\n", "not complete after 0.5 s"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4\r\na 1\n\r\n", "not complete after 0.5 s"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0", "not complete after 0.5 s"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", b"", "not HTTP"),
    ],
)
def test_slow_and_strange_servers_end_at_the_deadline(start: bytes, drip: bytes, words: str) -> None:
    with raw_server(start, drip) as url:
        assert words in failure(url)


def test_a_body_that_ends_early_is_cut_and_noted() -> None:
    cut = f'{RUN}{{engine="0"}} 5.0\n{RUN}{{engine="1"}} 123'
    with http_server({"/metrics": reply(cut, Content_Length="999", Connection="close")}) as url:
        # the handler closes the connection after the answer
        seen = observe([url], window=0, options=HttpOptions(), keep=KEEP, parse_info=no_facts)
    assert [labels["engine"] for labels, _ in seen.scrapes[0].samples[RUN]] == ["0"]
    assert "closed before the end" in seen.scrapes[0].problems[0]


def test_size_cap_keeps_what_came() -> None:
    body = "".join(f'{RUN}{{engine="{n}"}} 5.0\n' for n in range(1000))
    packed = reply(gzip.compress(body.encode()), Content_Encoding="gzip")
    for route in (reply(body), packed):
        with http_server({"/metrics": route}) as url:
            options = HttpOptions(max_bytes=10_000)
            seen = observe([url], window=0, options=options, keep=KEEP, parse_info=no_facts)
        assert 100 < len(seen.scrapes[0].samples[RUN]) < 1000
        assert "larger than" in seen.notes[0]


def test_gzip_and_authorization() -> None:
    log: list[tuple[str, dict[str, str]]] = []
    packed = reply(gzip.compress(BODY.encode()), Content_Encoding="gzip")
    with http_server({"/metrics": packed}, log) as url:
        for options in (
            HttpOptions(bearer_token="t0ken"),
            HttpOptions(basic_auth="user:pass"),
            HttpOptions(headers=(("X-Key", "1"),)),
        ):
            assert observe([url], window=0, options=options, keep=KEEP, parse_info=no_facts).scrapes
            assert "t0ken" not in repr(options)
            assert "pass" not in repr(options)
        observe([url.replace("//", "//u:p@")], window=0, options=HttpOptions(), keep=KEEP, parse_info=no_facts)
    sent = [headers for path, headers in log if path == "/metrics"]
    assert [h.get("authorization") for h in sent] == ["Bearer t0ken", "Basic dXNlcjpwYXNz", None, "Basic dTpw"]
    assert sent[2]["x-key"] == "1"


def test_redirect_on_the_same_host_is_followed() -> None:
    routes = {"/metrics": reply("", 307, Location="/inner/metrics"), "/inner/metrics": reply(BODY)}
    with http_server(routes) as url:
        assert observe([url], window=0, options=HttpOptions(), keep=KEEP, parse_info=no_facts).scrapes


def test_proxies_are_not_used_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[tuple[str, dict[str, str]]] = []
    with http_server({"/metrics": reply(BODY)}) as url, http_server({}, log) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert observe([url], window=0, options=HttpOptions(), keep=KEEP, parse_info=no_facts).scrapes
        assert not log
        assert "HTTP 404" in failure("http://engine.invalid:8000")
    assert log[0][0] == "http://engine.invalid:8000/metrics"


def test_some_targets_missing() -> None:
    with http_server({"/metrics": reply(BODY)}) as url:
        dead = f"127.0.0.1:{free_port()}"
        seen = observe([dead, url, url], window=0, options=QUICK, keep=KEEP, parse_info=no_facts)
    assert len(seen.scrapes) == 1
    (missing,) = seen.missing
    assert (missing.what, missing.why) == (f"{dead}: connection refused", "target not observed")
    assert missing.how


def test_all_targets_missing_is_one_line() -> None:
    with pytest.raises(SourceError) as error:
        observe([f"127.0.0.1:{free_port()}" for _ in range(6)], window=5, options=QUICK)
    assert str(error.value).count("connection refused") == 4
    assert "and 2 more" in str(error.value)


def test_engine_without_metrics_still_tells_its_configuration() -> None:
    routes = {"/get_server_info": reply('{"enable_metrics": false}')}

    def parse_info(answer: object, where: str, run: str) -> tuple[Fact, ...]:
        return (Fact("enable_metrics", False, "server_info", where, run),)

    with http_server(routes) as url:
        seen = observe([url], window=1, options=HttpOptions(), keep=KEEP, parse_info=parse_info)
    assert seen.facts[0].id == "enable_metrics"
    assert "HTTP 404" in seen.missing[0].what


def test_a_scrape_that_fails_later_is_a_note() -> None:
    turns = itertools.count()
    with http_server({"/metrics": lambda h: reply(BODY, 500 if next(turns) else 200)(h)}) as url:
        seen = observe([url], window=0.02, options=QUICK, keep=KEEP, parse_info=no_facts)
    assert len(seen.scrapes) == 1
    assert "failed: HTTP 500" in seen.notes[0]


def test_many_targets_at_once_and_progress() -> None:
    passed: list[float] = []
    with http_server({f"/{n}/metrics": reply(BODY) for n in range(40)}) as url:
        urls = [f"{url}/{n}" for n in range(40)]
        seen = observe(urls, window=1.0, options=HttpOptions(), keep=KEEP, parse_info=no_facts, progress=passed.append)
    assert len(seen.scrapes) == 80
    assert len({s.target for s in seen.scrapes}) == 40
    assert passed
    assert all(0 <= p <= 1.0 for p in passed)


def test_tls(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.fail("openssl is missing: apt-get install openssl")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply(BODY)(self)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    url = f"https://127.0.0.1:{server.server_address[1]}"
    try:
        assert "certificate not accepted" in failure(url, HttpOptions())
        for options in (HttpOptions(insecure=True), HttpOptions(ca_file=str(cert))):
            assert observe([url], window=0, options=options, keep=KEEP, parse_info=no_facts).scrapes
        assert "closed the connection" in failure(url.replace("https", "http"), HttpOptions())
        assert "cannot be loaded" in failure(url, HttpOptions(ca_file=str(key)))
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
    with http_server({"/metrics": reply(BODY)}) as plain:
        assert "TLS failed" in failure(plain.replace("http:", "https:"), HttpOptions())

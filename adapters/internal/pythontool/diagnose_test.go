package pythontool_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestEveryNetworkFailureHasACause has messages that yt-dlp 2026.10 and streamlink 8
// printed when the network failed in that way.
func TestEveryNetworkFailureHasACause(t *testing.T) {
	const unreachable = "YouTube cannot be reached from here: "
	pool := "Unable to open URL: https://www.youtube.com/watch?v=abcdefghijk (HTTPSConnectionPool(host='www.youtube.com', port=443): Max retries exceeded with url: /watch?v=abcdefghijk (Caused by "
	for message, want := range map[string]pythontool.Diagnosis{
		"Unable to download API page: HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known) (caused by TransportError(\"HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known)\"))": {
			watch.NameUnresolved, unreachable + "DNS does not resolve www.youtube.com",
		},
		pool + "NameResolutionError(\"HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -2] Name or service not known)\")))": {
			watch.NameUnresolved, unreachable + "DNS does not resolve www.youtube.com",
		},
		"HTTPSConnection(host='www.youtube.com', port=443): Failed to resolve 'www.youtube.com' ([Errno -3] Temporary failure in name resolution)": {
			watch.NameUnresolved, unreachable + "DNS does not answer for www.youtube.com",
		},
		"<urlopen error [Errno -2] Name or service not known>": {watch.NameUnresolved, unreachable + "DNS does not resolve YouTube"},

		"Unable to download webpage: HTTPSConnection(host='127.0.0.1', port=1): Failed to establish a new connection: [Errno 111] Connection refused (caused by TransportError(\"HTTPSConnection(host='127.0.0.1', port=1): Failed to establish a new connection: [Errno 111] Connection refused\"))": {
			watch.Unreachable, unreachable + "127.0.0.1:1 refuses the connection",
		},
		pool + "NewConnectionError(\"HTTPSConnection(host='www.youtube.com', port=443): Failed to establish a new connection: [Errno 111] Connection refused\")))": {
			watch.Unreachable, unreachable + "www.youtube.com refuses the connection",
		},
		"HTTPSConnection(host='www.youtube.com', port=443): Failed to establish a new connection: [Errno 101] Network is unreachable": {
			watch.Unreachable, unreachable + "there is no route to www.youtube.com",
		},

		"Unable to download webpage: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006) (caused by CertificateVerifyError('[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)'))": {
			watch.Unreachable, unreachable + "its TLS certificate is not trusted (self-signed certificate); see SSL_CERT_FILE",
		},
		pool + "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)'))))": {
			watch.Unreachable, unreachable + "its TLS certificate is not trusted (self-signed certificate); see SSL_CERT_FILE",
		},
		"[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:1006)": {watch.Unreachable, unreachable + "the TLS handshake fails"},

		"Unable to download API page: ('Unable to connect to proxy', OSError('Tunnel connection failed: 407 Proxy Authentication Required')) (caused by ProxyError(\"('Unable to connect to proxy', OSError('Tunnel connection failed: 407 Proxy Authentication Required'))\"))": {
			watch.ProxyFailed, unreachable + "the proxy refuses to connect to it (HTTP 407); check HTTPS_PROXY",
		},
		pool + "ProxyError('Unable to connect to proxy', NewConnectionError(\"HTTPSConnection(host='127.0.0.1', port=3128): Failed to establish a new connection: [Errno 111] Connection refused\"))))": {
			watch.ProxyFailed, unreachable + "the proxy 127.0.0.1:3128 refuses the connection; check HTTPS_PROXY",
		},
		"('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection(host='no.such.proxy.invalid', port=3128): Failed to resolve 'no.such.proxy.invalid' ([Errno -2] Name or service not known)\"))": {
			watch.ProxyFailed, unreachable + "DNS does not resolve the proxy no.such.proxy.invalid:3128; check HTTPS_PROXY",
		},
		"Tunnel connection failed: HTTP Error 403: Forbidden": {watch.ProxyFailed, unreachable + "the proxy refuses to connect to it (HTTP 403); check HTTPS_PROXY"},

		"HTTPConnectionPool(host='127.0.0.1', port=8900): Read timed out. (read timeout=2.0)": {watch.Unreachable, unreachable + "127.0.0.1:8900 does not answer in time"},
		"The read operation timed out":                                  {watch.Unreachable, unreachable + "YouTube does not answer in time"},
		"[Errno 104] Connection reset by peer":                          {watch.Unreachable, unreachable + "the connection broke off"},
		"('Connection aborted.', RemoteDisconnected('Remote end closed": {watch.Unreachable, unreachable + "the connection broke off"},
		"IncompleteRead(10 bytes read, 90 more expected)":               {watch.Unreachable, unreachable + "the connection broke off"},

		"HTTP Error 429: Too Many Requests (caused by <HTTPError 429: Too Many Requests>)":                                                       {watch.RateLimited, "YouTube limits the requests of this address (HTTP 429)"},
		"Unable to open URL: https://www.youtube.com/watch?v=x (429 Client Error: Too Many Requests for url: https://www.youtube.com/watch?v=x)": {watch.RateLimited, "YouTube limits the requests of this address (HTTP 429)"},
		"HTTP Error 403: Forbidden":                                                {watch.Blocked, "YouTube refuses the requests of this address (HTTP 403)"},
		"403 Client Error: Forbidden for url: x":                                   {watch.Blocked, "YouTube refuses the requests of this address (HTTP 403)"},
		"HTTP Error 404: Not Found":                                                {watch.Unreachable, "YouTube answers with an error (HTTP 404)"},
		"HTTP Error 500: Internal Server Error":                                    {watch.Unreachable, "YouTube answers with an error (HTTP 500)"},
		"503 Server Error: Service Unavailable for url: http://127.0.0.1:8900/503": {watch.Unreachable, "YouTube answers with an error (HTTP 503)"},

		"Video unavailable":                          {},
		"This live event will begin in 500 minutes.": {},
		"Failed to extract any player response":      {},
		"":                                           {},
	} {
		t.Run(message, func(t *testing.T) {
			got := pythontool.Diagnose(message)
			if got != want {
				t.Fatalf("got %+v\nwant %+v", got, want)
			}
			if detail := got.Detail(message); got.State != "" && (!strings.HasPrefix(detail, got.Cause+": ") || len(detail) > pythontool.MaxLine) {
				t.Errorf("the detail is %q", detail)
			}
		})
	}
}

func TestACauseIsAtMostMaxCauseLong(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, message := range []string{
		"('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection(host='" + long + "', port=31280): Failed to resolve",
		"('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection(host='" + long[:60] + "', port=31280): Failed to resolve",
		"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: " + long,
		"HTTPSConnectionPool(host='" + long[:60] + "', port=65535): Read timed out.",
	} {
		if got := pythontool.Diagnose(message).Cause; len(got) > pythontool.MaxCause || got == "" {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

package youtube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/certificate"
)

// hosts are the names that the server answers for, with one level of subdomains.
var hosts = []string{"youtube.com", "googlevideo.com", "youtu.be", "ytimg.com", "googleapis.com", "twitch.tv", "wss.twitch.tv", "ttvnw.net", "twitcasting.tv"}

// expiry is how long media URLs are valid.
const expiry = 6 * time.Hour

// Config is the configuration of a server. The zero value is valid.
type Config struct {
	Addr string // to listen on, default 127.0.0.1:0
	Dir  string // for the CA and the Python module, default a temporary one that Close removes

	OnRequest func(Request) // gets each request, which is then not kept for Requests and Count; nil: all are kept
}

// Server is the fake YouTube. It is safe for concurrent use.
type Server struct {
	dir       string
	temporary bool
	onRequest func(Request)
	address   string
	outer     *http.Server // the proxies
	inner     *http.Server // YouTube itself, inside the tunnels
	tunnels   *tunnelListener
	serving   sync.WaitGroup
	cancel    context.CancelFunc

	mu        sync.Mutex
	videos    map[string]*entry
	channels  map[string]Channel
	faults    []*injectedFault
	dataAPI   DataAPI
	owner     owner
	requests  []Request
	refused   []string
	login     login
	others    map[string]http.Handler // of Host
	recording *Recording
}

// Start starts a server. It runs until Close.
func Start(c Config) (*Server, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	y := &Server{dir: c.Dir, onRequest: c.OnRequest, videos: map[string]*entry{}, channels: map[string]Channel{}, others: map[string]http.Handler{}}
	y.AddChannel(DefaultChannelID, Channel{Handle: handle, Title: author})
	var names []string
	for _, h := range hosts {
		names = append(names, h, "*."+h)
	}
	root, key, err := certificate.Make(time.Now().Add(24*time.Hour), names...)
	if err != nil {
		return nil, fmt.Errorf("youtube: certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(root, key)
	if err != nil {
		return nil, fmt.Errorf("youtube: certificate: %w", err)
	}
	if err := y.writeFiles(root); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		y.removeFiles()
		return nil, fmt.Errorf("youtube: listen: %w", err)
	}
	y.address = listener.Addr().String()
	y.tunnels = newTunnelListener(listener.Addr(), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	var ctx context.Context
	ctx, y.cancel = context.WithCancel(context.Background())
	quiet := log.New(io.Discard, "", 0) // tests close connections on purpose
	base := func(net.Listener) context.Context { return ctx }
	y.outer = &http.Server{Handler: http.HandlerFunc(y.proxy), ErrorLog: quiet, BaseContext: base, ReadHeaderTimeout: 10 * time.Second}
	y.inner = &http.Server{Handler: y.sites(httpfault.Wrap(y.site(), y.fault)), ErrorLog: quiet, BaseContext: base, ReadHeaderTimeout: time.Minute}
	y.serving.Go(func() { _ = y.outer.Serve(listener) })
	y.serving.Go(func() { _ = y.inner.Serve(y.tunnels) })
	return y, nil
}

// Close ends every connection and waits for all goroutines.
func (y *Server) Close() error {
	y.cancel()
	err := errors.Join(y.outer.Close(), y.inner.Close())
	y.serving.Wait()
	return errors.Join(err, y.removeFiles())
}

// Host lets the fake of another site answer for one of hosts, and its subdomains. Its requests are not recorded here.
func (y *Server) Host(host string, handler http.Handler) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.others[host] = handler
}

// sites passes a request to the fake of its site.
func (y *Server) sites(youTube http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := youTube
		y.mu.Lock()
		for host, other := range y.others {
			if name := strings.ToLower(r.Host); name == host || strings.HasSuffix(name, "."+host) {
				handler = other
			}
		}
		y.mu.Unlock()
		handler.ServeHTTP(w, r)
	})
}

// URL is the watch page's URL of a video.
func (y *Server) URL(id string) string { return "https://www.youtube.com/watch?v=" + id }

// Proxy is the proxy's URL, http://host:port.
func (y *Server) Proxy() string { return "http://" + y.address }

// AddProxy starts another proxy, which YouTube sees as another address, and returns its URL.
func (y *Server) AddProxy() (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("youtube: listen: %w", err)
	}
	y.serving.Go(func() { _ = y.outer.Serve(listener) })
	return "http://" + listener.Addr().String(), nil
}

// CAFile is the path of the authority's certificate, PEM.
func (y *Server) CAFile() string { return filepath.Join(y.dir, "ca.pem") }

// Env returns the environment variables that direct a program and its subprocesses
// to the fake instead of YouTube. They must come after the inherited ones. Go's client, yt-dlp
// and streamlink understand them.
func (y *Server) Env() []string {
	env := []string{
		"SSL_CERT_FILE=" + y.CAFile(),
		"REQUESTS_CA_BUNDLE=" + y.CAFile(), // streamlink prefers these two to certifi, if they are set
		"CURL_CA_BUNDLE=" + y.CAFile(),
		"PYTHONPATH=" + filepath.Join(y.dir, "python"), // yt-dlp prefers certifi to SSL_CERT_FILE
	}
	for name, value := range map[string]string{
		"https_proxy": y.Proxy(), "http_proxy": y.Proxy(), "all_proxy": "", "no_proxy": "localhost,127.0.0.1,::1",
	} {
		env = append(env, name+"="+value, strings.ToUpper(name)+"="+value)
	}
	slices.Sort(env)
	return env
}

// writeFiles writes the files that Env names.
func (y *Server) writeFiles(root []byte) error {
	if y.dir == "" {
		dir, err := os.MkdirTemp("", "youtube-")
		if err != nil {
			return fmt.Errorf("youtube: directory: %w", err)
		}
		y.dir, y.temporary = dir, true
	}
	const certifi = `"""Trust the authority of SSL_CERT_FILE alone."""
import os


def where():
    return os.environ["SSL_CERT_FILE"]


def contents():
    with open(where(), encoding="ascii") as f:
        return f.read()
`
	module := filepath.Join(y.dir, "python", "certifi")
	err := os.MkdirAll(module, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(module, "__init__.py"), []byte(certifi), 0o644)
	}
	if err == nil {
		err = os.WriteFile(y.CAFile(), root, 0o644)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("youtube: directory: %w", err), y.removeFiles())
	}
	return nil
}

func (y *Server) removeFiles() error {
	if !y.temporary {
		return nil
	}
	return os.RemoveAll(y.dir)
}

package ytdlp_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// lent is a request.Cookies that keeps what it got back.
type lent struct {
	jar   cookie.Jar
	next  cookie.Jar // which it knows after the next return; without a version: the same
	given []cookie.Use
}

func (l *lent) Jar() cookie.Jar { return l.jar }

func (l *lent) Return(_ context.Context, u cookie.Use) bool {
	l.given = append(l.given, u)
	if l.next.Version > l.jar.Version {
		l.jar = l.next
		return true
	}
	return false
}

const (
	loginValue  = "AFmmF2sw-the-secret-login"
	signerValue = "the-secret-signer"
)

// jarOf returns a jar with a login.
func jarOf(t testing.TB, version int, login string) cookie.Jar {
	t.Helper()
	line := ".youtube.com\tTRUE\t/\tTRUE\t" + fmt.Sprint(time.Now().Add(24*time.Hour).Unix()) + "\t%s\t%s\n"
	f := must.Get(cookie.Parse(fmt.Sprintf(line, "LOGIN_INFO", login) + fmt.Sprintf(line, "SAPISID", signerValue)))(t)
	return cookie.Jar{Name: "members", Version: version, Text: f.Text()}
}

func TestTheRealToolUsesTheLoginOfAJar(t *testing.T) { // section 17.7
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		y := pythontooltest.YouTube(t)
		y.Add(pythontooltest.URL.ID(), youtube.Video{State: youtube.Live, Login: true, Source: pythontooltest.Ladder})
		resolver := newResolver(ytdlp.Config{})
		ask := func(l *lent) (watch.Resolution, cookie.Use) {
			t.Helper()
			got := resolver.Resolve(request.WithCookies(t.Context(), l), pythontooltest.URL)
			if len(l.given) == 0 {
				t.Fatalf("got %s (%s), and no cookies back", got.State, got.Detail)
			}
			return got, l.given[len(l.given)-1]
		}
		y.AcceptLogin(loginValue)
		if got := resolver.Resolve(t.Context(), pythontooltest.URL); got.State != watch.MembersOnly {
			t.Errorf("without a jar: got %s (%s)", got.State, got.Detail)
		}
		got, use := ask(&lent{jar: jarOf(t, 3, loginValue)})
		if got.State != watch.Live || len(got.Renditions) == 0 || !use.Accepted || use.Rejected || use.Version != 3 || !strings.Contains(string(use.Text), loginValue) {
			t.Errorf("with a login: got %s (%s), use %+v", got.State, got.Detail, use)
		}
		use.Version = 4 // with what yt-dlp has added, such as a language
		if _, again := ask(&lent{jar: use.Jar}); again != (cookie.Use{Jar: cookie.Jar{Name: "members", Version: 4}, Accepted: true}) {
			t.Errorf("again: use %+v with %q", again, string(again.Text))
		}

		y.RotateLogin()
		got, use = ask(&lent{jar: jarOf(t, 4, loginValue)})
		if left := string(use.Text); got.State != watch.Live || !use.Accepted || !strings.Contains(left, youtube.TokenPrefix) || !strings.Contains(left, loginValue) {
			t.Errorf("a login that is renewed: got %s, use %+v with %q", got.State, use, left)
		}

		y.AcceptLogin("another")
		got, use = ask(&lent{jar: jarOf(t, 5, loginValue)})
		if got.State != watch.LoginLost || !strings.Contains(got.Detail, "jar members") || !use.Rejected || use.Accepted || strings.Contains(string(use.Text), loginValue) {
			t.Errorf("a login that is rejected: got %s (%s), use %+v", got.State, got.Detail, use)
		}
		got, use = ask(&lent{jar: jarOf(t, 6, loginValue), next: jarOf(t, 7, "another")})
		if got.State != watch.Live || use.Version != 7 || !use.Accepted {
			t.Errorf("a rejected login, and a newer one: got %s (%s), use %+v", got.State, got.Detail, use)
		}
		missing := &lent{jar: cookie.Jar{Name: "members"}}
		if got := resolver.Resolve(request.WithCookies(t.Context(), missing), pythontooltest.URL); got.State != watch.LoginLost || len(missing.given) > 0 {
			t.Errorf("a jar that cannot be read: got %s (%s), %d back", got.State, got.Detail, len(missing.given))
		}
	})
}

// What a run has of a jar is nowhere but in its own file: not in its arguments and environment, nor in a
// directory or in the log, also while it hangs and after it was killed. Another run does not find it.
func TestARunHasItsJarAlone(t *testing.T) { // section 17.7
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	const look = `
import glob, stat
path = args[args.index("--cookies") + 1] if "--cookies" in args else ""
def readable(name):
    try:
        return open(name).read() if stat.S_ISREG(os.stat(name).st_mode) else ""
    except OSError:
        return ""
found = [name for name in glob.glob("/proc/[0-9]*/fd/*") if name.replace(str(os.getpid()), "self", 1) != path and "` + signerValue + `" in readable(name)]
mine = readable(path) if path else ""
if path:
    with open(path, "w") as f:
        f.write(mine + "# written")
print(" ".join(sys.argv), dict(os.environ), file=sys.stderr)
print("ERROR: found=%s mine=%s written=%s %s" % (found, "` + signerValue + `" in mine, path and "# written" in readable(path), time.sleep(60) if os.path.exists(os.path.join(os.path.dirname(sys.modules["yt_dlp"].__file__), "hang")) else ""), file=sys.stderr)`
	tool := pythonTool(t, look)
	for name, newResolver := range map[string]func(*slog.Logger, time.Duration) *ytdlp.Resolver{
		"as a command": func(log *slog.Logger, limit time.Duration) *ytdlp.Resolver {
			return ytdlp.New(ytdlp.Config{Path: tool, Files: []string{filepath.Dir(tool)}, Timeout: limit}, log)
		},
		"in forks": func(log *slog.Logger, limit time.Duration) *ytdlp.Resolver {
			server := ytdlp.NewForkServer(tool, []string{filepath.Dir(tool)}, log)
			t.Cleanup(server.Close)
			must.Do(t, server.Check(t.Context()))
			return ytdlp.New(ytdlp.Config{Path: tool, Files: []string{filepath.Dir(tool)}, ForkServer: server, Timeout: limit}, log)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
			l := &lent{jar: jarOf(t, 1, loginValue)}
			resolver := newResolver(log, time.Minute)
			ctx := request.WithCookies(t.Context(), l)
			for range 2 {
				if got := resolver.Resolve(ctx, pythontooltest.URL); !strings.Contains(got.Detail, "found=[] mine=True written=True") {
					t.Errorf("got %s (%s): %s", got.State, got.Detail, logged.String())
				}
			}
			if got := resolver.Resolve(t.Context(), pythontooltest.URL); !strings.Contains(got.Detail, "found=[] mine=False written=") {
				t.Errorf("without a jar: got %s (%s)", got.State, got.Detail)
			}
			hang := filepath.Join(filepath.Dir(tool), "yt_dlp", "hang")
			must.Do(t, os.WriteFile(hang, nil, 0o644))
			returned := len(l.given)
			if got := newResolver(log, time.Second).Resolve(ctx, pythontooltest.URL); got.State != watch.Unreachable {
				t.Errorf("a run that hangs: got %s (%s)", got.State, got.Detail)
			}
			must.Do(t, os.Remove(hang))
			if len(l.given) != returned {
				t.Errorf("a run that was killed returns %d jars", len(l.given)-returned)
			}
			for _, secret := range []string{loginValue, signerValue} {
				if strings.Contains(logged.String(), secret) {
					t.Errorf("the log has %s: %s", secret, logged.String())
				}
				must.Do(t, filepath.WalkDir(scratch, func(path string, e fs.DirEntry, err error) error {
					if err == nil && e.Type().IsRegular() {
						if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(secret)) {
							t.Errorf("%s has %s", path, secret)
						}
					}
					return err
				}))
			}
		})
	}
}

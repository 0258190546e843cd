package logging_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestALineForPeople(t *testing.T) {
	var b bytes.Buffer
	l := must.Get(logging.NewText(&b, "info", tokyo))(t)
	t.Run("is one line for people, without colours in a file", func(t *testing.T) {
		b.Reset()
		write(t, l.With("component", "watch"), slog.LevelWarn, "still black", "for", "12 s", "n", 3, slog.Group("g", "k", "v"))
		expectLine(t, &b, `20:15:30.123 WARN  still black  watch for="12 s" n=3 g.k=v`)
	})
	t.Run("refuses an unknown level", func(t *testing.T) {
		expect.Failed(logging.NewText(&b, "loud", nil))(t, "LOG_LEVEL")
	})
}

func TestColoursOnATerminalOnly(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"a terminal has colours":               {map[string]string{"NO_COLOR": "", "TERM": "xterm"}, true},
		"NO_COLOR declines them":               {map[string]string{"NO_COLOR": "1", "TERM": "xterm"}, false},
		"a dumb terminal does not know of any": {map[string]string{"NO_COLOR": "", "TERM": "dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			screen, terminal := openTerminal(t)
			l := must.Get(logging.NewText(terminal, "info", tokyo))(t)
			write(t, l, slog.LevelError, "lost")
			seen := make([]byte, 1024)
			n := must.Get(screen.Read(seen))(t)
			if got := strings.Contains(string(seen[:n]), "\x1b["); got != c.want {
				t.Errorf("colours %v, want %v: %q", got, c.want, seen[:n])
			}
		})
	}
}

// openTerminal opens a pseudo-terminal. A test reads from screen what the logger writes to
// terminal.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen = must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	t.Cleanup(func() { _ = screen.Close() })
	must.Do(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN))(t)
	terminal = must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = terminal.Close() })
	return screen, terminal
}

func TestARelayShowsLinesOfOtherProcessesLikeOwnOnes(t *testing.T) {
	var own, relayed bytes.Buffer
	direct := must.Get(logging.NewServiceText(&own, "info", tokyo))(t)
	worker := must.Get(logging.New(logging.NewServiceRelay(&relayed, tokyo), "info", nil))(t)
	for _, l := range []*slog.Logger{direct, worker} {
		write(t, l.With("component", "worker", "monitor_id", "mon-1"), slog.LevelWarn, "still black", "for", "12 s", "n", 3, slog.Group("g", "k", "v", "a", 1), "z", nil)
	}
	if want := "20:15:30.123 WARN  still black  worker monitor=mon-1 for=\"12 s\" n=3 g.k=v g.a=1 z=null\n"; own.String() != want || relayed.String() != want {
		t.Errorf("the own line is %q, the relayed one %q, want %q", own.String(), relayed.String(), want)
	}
}

func TestARelayPassesOnWhatIsNoLogLine(t *testing.T) {
	for _, raw := range []string{"panic: oh\n", "{}\n", `{"message":"m"}` + "\n", `{"timestamp":"2024-01-15T20:15:30Z","level":"LOUD","message":"m"}` + "\n", "\n"} {
		var b bytes.Buffer
		if n, err := logging.NewServiceRelay(&b, tokyo).Write([]byte(raw)); err != nil || n != len(raw) || b.String() != raw {
			t.Errorf("%q becomes %q (%d, %v)", raw, b.String(), n, err)
		}
	}
}

func TestARelayedLineShowsTheGenerationOfItsWorker(t *testing.T) {
	var b bytes.Buffer
	raw := `{"timestamp":"2024-01-15T20:15:30.123+09:00","level":"ERROR","monitor_id":"mon-1","generation":3,"component":"gateway","message":"this process has failed and exits"}` + "\n"
	must.Get(logging.NewServiceRelay(&b, tokyo).Write([]byte(raw)))(t)
	if want := "20:15:30.123 ERROR this process has failed and exits  gateway monitor=mon-1 generation=3\n"; b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestARelayedLineCannotDrawOnTheTerminal(t *testing.T) {
	var b bytes.Buffer
	raw := `{"timestamp":"2024-01-15T20:15:30Z","level":"INFO","monitor_id":"\u001b[2J","component":"\u001bc","message":"a\u001b[1m\nb","data":{"k\u001b":"v\u009b"}}` + "\n"
	must.Get(logging.NewServiceRelay(&b, tokyo).Write([]byte(raw)))(t)
	if got := strings.TrimSuffix(b.String(), "\n"); strings.ContainsAny(got, "\x1b\n\u009b") {
		t.Errorf("wrote %q", got)
	}
}

func TestAVerbatimTextKeepsTheQueryOfItsURL(t *testing.T) {
	var b bytes.Buffer
	l := must.Get(logging.New(&b, "info", tokyo))(t)
	l.Info("m", "link", logging.Verbatim("http://localhost:8080/signin?token=T"), "other", "http://localhost:8080/signin?token=S")
	if got := b.String(); !strings.Contains(got, "token=T") || strings.Contains(got, "token=S") {
		t.Errorf("wrote %s", got)
	}
}

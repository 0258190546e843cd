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
)

func TestALineForPeople(t *testing.T) {
	var b bytes.Buffer
	l, err := logging.NewText(&b, "info", tokyo)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("is one line for people, without colours in a file", func(t *testing.T) {
		b.Reset()
		write(t, l.With("component", "watch"), slog.LevelWarn, "still black", "for", "12 s", "n", 3, slog.Group("g", "k", "v"))
		expect(t, &b, `20:15:30.123 WARN  still black  watch for="12 s" n=3 g.k=v`)
	})
	t.Run("cannot be made to draw on the terminal", func(t *testing.T) {
		b.Reset()
		write(t, l, slog.LevelInfo, "a\x1b[2Jb\nc", "v\x1b", "x\x1b[0m\u009by")
		if got := b.String(); strings.ContainsAny(strings.TrimSuffix(got, "\n"), "\x1b\n\u009b") {
			t.Errorf("wrote %q", got)
		}
	})
	t.Run("refuses an unknown level", func(t *testing.T) {
		if _, err := logging.NewText(&b, "loud", nil); err == nil || !strings.Contains(err.Error(), "LOG_LEVEL") {
			t.Errorf("error is %v", err)
		}
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
			l, err := logging.NewText(terminal, "info", tokyo)
			if err != nil {
				t.Fatal(err)
			}
			write(t, l, slog.LevelError, "lost")
			seen := make([]byte, 1024)
			n, err := screen.Read(seen)
			if err != nil {
				t.Fatal(err)
			}
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
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return screen, terminal
}

package logging

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// coloured tells whether w is a terminal whose user has not declined colours
// (no-color.org; TERM=dumb).
func coloured(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isatty.IsTerminal(f.Fd())
}

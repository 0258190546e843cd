package ytdlp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxShebang limits the first line of a script, in bytes.
const maxShebang = 4096

// errNoScript means that a file is not a script of Python: a binary that contains
// Python, or a script of a shell that runs another file.
var errNoScript = errors.New("it is no Python script or zip application")

// interpreter returns the command that runs the script or zip application at path: a
// Python interpreter and its arguments, from the first line of the file.
func interpreter(path string) (command []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(io.LimitReader(file, 2*maxShebang))
	first, err := lines.ReadString('\n')
	rest, ok := strings.CutPrefix(first, "#!")
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: %w", path, errNoScript)
	}
	command = strings.Fields(rest)
	switch baseName(command) {
	case "env":
		if command = command[1:]; len(command) > 0 && command[0] == "-S" {
			command = command[1:]
		}
	case "sh":
		// pip writes '''exec' "/a path/python" "$0" "$@" if the first line cannot hold the path.
		second, _ := lines.ReadString('\n')
		python, isExec := strings.CutPrefix(second, "'''exec' ")
		python, _, isScript := strings.Cut(python, ` "$0"`)
		command = nil
		if isExec && isScript {
			command = []string{strings.Trim(python, `"`)}
		}
	}
	if name := baseName(command); !strings.HasPrefix(name, "python") && !strings.HasPrefix(name, "pypy") {
		return nil, fmt.Errorf("%s: %w", path, errNoScript)
	}
	return command, nil
}

func baseName(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return filepath.Base(command[0])
}

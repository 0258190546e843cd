package config

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Tool is an external program and how it was found.
type Tool struct {
	Path    string // of the program; the bare name if it was not found
	FoundBy string // for people: the environment variable, "make tools" or PATH; empty if it was not found
}

// place is where findTool looks for programs.
type place struct {
	folder string // relative to that of this program
	name   string // for people
}

// toolsPlace is where "make tools" installs tools from PyPI, if this program is in the bin
// directory of a checkout.
var toolsPlace = place{"../.tools/venv/bin", `"make tools"`}

// findTool locates a program. It returns a configured path without checking it.
// Otherwise it looks in the places, and then in PATH.
func findTool(name, variable, configured string, places ...place) Tool {
	if configured != "" {
		return Tool{configured, variable}
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			if t, found := findIn(filepath.Dir(self), name, places); found {
				return t
			}
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return Tool{found, "PATH"}
	}
	return Tool{Path: name}
}

// findIn looks in the places around the folder of this program.
func findIn(folder, name string, places []place) (t Tool, found bool) {
	for _, p := range places {
		if path, err := exec.LookPath(filepath.Join(folder, p.folder, name)); err == nil {
			return Tool{path, p.name}, true
		}
	}
	return Tool{}, false
}

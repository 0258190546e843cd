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

// findTool locates a program. It returns a configured path without checking it.
// Otherwise it looks in the folder of "make tools", if this binary is in the bin
// directory of a checkout, and then in PATH.
func findTool(name, variable, configured string) Tool {
	if configured != "" {
		return Tool{configured, variable}
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			path := filepath.Join(filepath.Dir(self), "..", ".tools", "venv", "bin", name)
			if found, err := exec.LookPath(path); err == nil {
				return Tool{found, `"make tools"`}
			}
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return Tool{found, "PATH"}
	}
	return Tool{Path: name}
}

package config

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Tool is an external program and how it was found.
type Tool struct {
	Path   string // to call; the bare name if it was not found
	Origin string // for people: the variable, "make tools" or PATH; empty if it was not found
}

// findTool locates a program. A configured path wins, whether or not the program is
// there. Next comes the folder of "make tools", if this binary is in the bin
// directory of a checkout, and then PATH.
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

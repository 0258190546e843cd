package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Tool is a program that is called, and how it was found.
type Tool struct {
	Path   string // to call; the bare name when it was not found
	Origin string // for people: the variable, the checkout, PATH; empty: not found
}

// findTool finds a program: where the configuration says, whether it is there
// or not; else where "make tools" put it, if this binary is in the bin directory
// of a checkout; else in PATH.
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

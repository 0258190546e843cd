package testtools

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Decoder returns the path of segment-decoder: what DECODER_PATH says, or a build of the
// source in this checkout, which a cache keeps. Error: it cannot be built.
func Decoder() (string, error) {
	return build("segment-decoder", "DECODER_PATH", filepath.Join("test", "tools", "decoder.sh"),
		filepath.Join("adapters", "stream", "ffmpeg", "decoder", "program"))
}

// Launcher returns the path of tool-launcher: what LAUNCHER_PATH says, or a build of the source
// in this checkout, which a cache keeps. Error: it cannot be built.
func Launcher() (string, error) {
	folder := filepath.Join("adapters", "internal", "subprocess", "launcher")
	return build("tool-launcher", "LAUNCHER_PATH", filepath.Join(folder, "build.sh"), folder)
}

// build returns what a variable says, or lets a script build a program from a folder of sources. Both are
// named from the root of the checkout.
func build(name, variable, script, folder string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		return path, nil
	}
	hash := sha256.New()
	sources, err := filepath.Glob(filepath.Join(root(), folder, "*.[ch]"))
	if err != nil {
		return "", err
	}
	for _, file := range append(sources, filepath.Join(root(), script)) {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("the source of %s: %w", name, err)
		}
		hash.Write(b)
	}
	dir, err := Cache("", name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%x", name, hash.Sum(nil)[:8]))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	// Packages are tested at the same time: each builds its own file, and the last one stays.
	own := fmt.Sprintf("%s-%d", path, os.Getpid())
	if out, err := exec.Command(filepath.Join(root(), script), own).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s (make tools, or install gcc and what the script names): %w\n%s", name, err, out)
	}
	return path, os.Rename(own, path)
}

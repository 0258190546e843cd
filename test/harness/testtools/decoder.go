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
	if path := os.Getenv("DECODER_PATH"); path != "" {
		return path, nil
	}
	script := filepath.Join(root(), "test", "tools", "decoder.sh")
	hash := sha256.New()
	for _, file := range []string{script, filepath.Join(root(), "adapters", "stream", "ffmpeg", "decoder", "program", "segment-decoder.c")} {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("the source of segment-decoder: %w", err)
		}
		hash.Write(b)
	}
	dir, err := Cache("", "segment-decoder")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("segment-decoder-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	// Packages are tested at the same time: each builds its own file, and the last one stays.
	own := fmt.Sprintf("%s-%d", path, os.Getpid())
	if out, err := exec.Command(script, own).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build segment-decoder (make tools, or install gcc, pkg-config and libavformat-dev): %w\n%s", err, out)
	}
	return path, os.Rename(own, path)
}

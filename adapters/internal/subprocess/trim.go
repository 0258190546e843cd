package subprocess

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// Limits of the scratch directory. Tools never delete what they have cached, such as a script of
// some MB for each release of YouTube's player.
const (
	MaxScratch   = 32 << 20         // bytes of whole pages; beyond it the oldest files are deleted
	trimInterval = 10 * time.Minute // at least, and then at the next start of a tool
)

// trimScratch deletes the oldest files of a directory until the others take at most limit bytes. It
// follows no link: a tool that was taken over may have made some. It passes over files that it
// cannot read or delete.
func trimScratch(dir string, limit int64) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	type file struct {
		path string
		fs.FileInfo
	}
	var files []file
	var total int64
	_ = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // what is gone, or cannot be read, is passed over
		}
		if info, err := e.Info(); err == nil {
			files = append(files, file{path, info})
			total += pages(info)
		}
		return nil
	})
	slices.SortFunc(files, func(a, b file) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= limit {
			return
		}
		if root.Remove(f.path) == nil {
			total -= pages(f)
		}
	}
}

// pages returns what a file takes: an empty one is not free.
func pages(file fs.FileInfo) int64 { return file.Size()&^4095 + 4096 }

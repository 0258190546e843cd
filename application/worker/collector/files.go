package collector

import (
	"crypto/sha256"
	"io"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// file is a file of a record until it is uploaded or lost.
type file struct {
	meta    evidence.File
	content io.ReaderAt // nil: nothing is left to be uploaded
	closer  io.Closer   // of content; may be nil
}

func (f *file) close() {
	if f.closer != nil {
		_ = f.closer.Close()
	}
	f.content, f.closer = nil, nil
}

// files are those of one record, in the order in which they are uploaded.
type files struct {
	all     []*file
	defects *defects
}

// add adds a file to be uploaded. closer, if not nil, is closed with it. A file that
// is not valid costs a note.
func (fs *files) add(meta evidence.File, content io.ReaderAt, size int64, closer io.Closer) {
	f := &file{meta, content, closer}
	digest := sha256.New()
	_, err := io.Copy(digest, io.NewSectionReader(content, 0, size))
	f.meta.Size, f.meta.Digest = size, evidence.Digest(digest.Sum(nil))
	if err == nil {
		err = f.meta.Valid()
	}
	if err != nil {
		fs.defects.note("%s: %v", meta.Variant, err)
		f.close()
		return
	}
	fs.all = append(fs.all, f)
}

// next returns the file to be uploaded next, or nil.
func (fs *files) next() *file {
	for _, f := range fs.all {
		if f.content != nil {
			return f
		}
	}
	return nil
}

// missing names the files that are not uploaded.
func (fs *files) missing() string {
	var names []string
	for _, f := range fs.all {
		if f.content != nil {
			names = append(names, string(f.meta.Variant))
		}
	}
	return strings.Join(names, ", ")
}

// close frees all files.
func (fs *files) close() {
	for _, f := range fs.all {
		f.close()
	}
}

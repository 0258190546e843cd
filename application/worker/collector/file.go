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

// addFile adds a file to be uploaded. closer, if not nil, is closed with it. A file that
// is not valid costs a note.
func (r *record) addFile(meta evidence.File, content io.ReaderAt, size int64, closer io.Closer) {
	f := &file{meta, content, closer}
	digest := sha256.New()
	_, err := io.Copy(digest, io.NewSectionReader(content, 0, size))
	f.meta.Size, f.meta.Digest = size, evidence.Digest(digest.Sum(nil))
	if err == nil {
		err = f.meta.Valid()
	}
	if err != nil {
		r.note("%s: %v", meta.Variant, err)
		f.close()
		return
	}
	r.files = append(r.files, f)
}

// nextFile returns the file to be uploaded next, or nil.
func (r *record) nextFile() *file {
	for _, f := range r.files {
		if f.content != nil {
			return f
		}
	}
	return nil
}

// missingFiles names the files that are not uploaded.
func (r *record) missingFiles() string {
	var names []string
	for _, f := range r.files {
		if f.content != nil {
			names = append(names, string(f.meta.Variant))
		}
	}
	return strings.Join(names, ", ")
}

// left reports whether there is something to upload. The notes come last.
func (r *record) left() bool {
	return r.nextFile() != nil || r.complete && len(r.notes) > 0 && !r.noted
}

// loseFiles frees the files. A note stays.
func (r *record) loseFiles(why string) {
	if r.lastErr != nil {
		r.note("%s: %v", why, r.lastErr)
	} else {
		r.note("%s", why)
	}
	r.logLost(why)
	for _, f := range r.files {
		f.close()
	}
}

// end ends the capture: no media are needed any more. It logs what is missing.
func (r *record) end() {
	for _, t := range r.tracks {
		_ = t.file.Close()
	}
	r.tracks, r.complete = nil, true
	if len(r.notes) > 0 {
		r.c.log.Warn("Evidence is incomplete; the worker uploads what was captured",
			"evidence_id", string(r.id), "event_id", r.eventID, "condition", r.condition, "missing", r.noteText())
	}
}

// logLost logs once that files could not be uploaded.
func (r *record) logLost(why string) {
	if r.logged {
		return
	}
	r.logged = true
	if r.lastErr != nil {
		why += ": " + r.lastErr.Error()
	}
	r.c.log.Warn("Evidence could not be stored", "error", why, "evidence_id", string(r.id), "event_id", r.eventID, "condition", r.condition)
}

// close closes all files.
func (r *record) close() {
	for _, t := range r.tracks {
		_ = t.file.Close()
	}
	for _, f := range r.files {
		f.close()
	}
	r.tracks = nil
}

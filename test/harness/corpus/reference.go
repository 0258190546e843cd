package corpus

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Reference is a picture that was uploaded for an item. It is the first frame of Picture, in 640x360.
type Reference struct {
	Picture    Picture
	Unwanted   detector.Unwanted // default: after the start
	Similarity float64           // default: as in an upload
}

// References returns the references of an item as a watch has them. Its errors are those of ffmpeg and of an upload.
func (l *Library) References(ctx context.Context, i Item) (list []detector.Reference, err error) {
	dir, err := os.MkdirTemp("", "references-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for n, r := range i.References {
		path := filepath.Join(dir, fmt.Sprint(n, ".png"))
		if err := l.run(ctx, "-filter_complex", r.Picture.filterGraph()+",scale=640:360[v]", "-map", "[v]", "-frames:v", "1", "-pix_fmt", "rgb24", path); err != nil {
			return nil, err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		uploaded, err := references.Digest(raw)
		if err != nil {
			return nil, fmt.Errorf("corpus: reference %d of %q: %w", n, i.Name, err)
		}
		list = append(list, detector.Reference{
			Name: fmt.Sprint(n), Unwanted: cmp.Or(r.Unwanted, detector.AfterStart), Similarity: cmp.Or(r.Similarity, detector.DefaultSimilarity), Digests: uploaded.Digests,
		})
	}
	return list, nil
}

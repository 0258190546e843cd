package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The packets of an MPEG-TS (ISO/IEC 13818-1), and the identifiers that ffmpeg
// gives to the packets of its tracks.
const (
	packetSize = 188
	pidVideo   = 0x100
	pidAudio   = 0x101
)

func (l *Loss) recipe() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("%+v", *l)
}

// lose takes a track out of the segments of a clip that begin within the loss.
func (l *Library) removeTrack(ctx context.Context, loss Loss, c Clip, dir string) error {
	for _, s := range c.Segments {
		if s.Start < seconds(loss.From) || s.Start >= seconds(loss.To) {
			continue
		}
		path := filepath.Join(dir, s.Name)
		if loss.Listed {
			if err := os.WriteFile(path, without(s.Bytes, loss.pid()), 0o644); err != nil {
				return err
			}
			continue
		}
		rest := filepath.Join(dir, "rest.ts")
		if err := l.run(ctx, "-i", path, "-map", loss.keeps(), "-c", "copy", "-copyts", "-muxdelay", "0", "-muxpreload", "0", "-f", "mpegts", rest); err != nil {
			return err
		}
		if err := os.Rename(rest, path); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loss) pid() int {
	if l.Of == Black {
		return pidVideo
	}
	return pidAudio
}

// keeps selects the track that stays.
func (l *Loss) keeps() string {
	if l.Of == Black {
		return "0:a"
	}
	return "0:v"
}

// without drops the packets of a track that the container goes on to announce.
func without(ts []byte, pid int) (rest []byte) {
	for ; len(ts) >= packetSize; ts = ts[packetSize:] {
		if int(ts[1]&0x1f)<<8|int(ts[2]) != pid {
			rest = append(rest, ts[:packetSize]...)
		}
	}
	return rest
}

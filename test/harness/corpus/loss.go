package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stream-monitor/stream-monitor/test/harness/bitstream"
)

// cacheKey returns the part of a clip's cache name for a missing track.
func (l *MissingTrack) cacheKey() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("{Of:%s From:%v To:%v Listed:%v}", l.Of, l.From, l.To, l.Announced)
}

// removeTrack removes a track from the segments of a clip that begin within the loss.
func (l *Library) removeTrack(ctx context.Context, loss MissingTrack, c Clip, dir string) error {
	for _, s := range c.Segments {
		if s.Start < seconds(loss.From) || s.Start >= seconds(loss.To) {
			continue
		}
		path := filepath.Join(dir, s.Name)
		if loss.Announced {
			if err := os.WriteFile(path, withoutPackets(s.Bytes, loss.pid()), 0o644); err != nil {
				return err
			}
			continue
		}
		rest := filepath.Join(dir, "rest.ts")
		if err := l.run(ctx, "-i", path, "-map", loss.otherTrack(), "-c", "copy", "-copyts", "-muxdelay", "0", "-muxpreload", "0", "-f", "mpegts", rest); err != nil {
			return err
		}
		if err := os.Rename(rest, path); err != nil {
			return err
		}
	}
	return nil
}

func (l *MissingTrack) pid() int {
	if l.Of == Black {
		return bitstream.PIDVideo
	}
	return bitstream.PIDAudio
}

// otherTrack selects the track that remains.
func (l *MissingTrack) otherTrack() string {
	if l.Of == Black {
		return "0:a"
	}
	return "0:v"
}

// withoutPackets removes the packets of a track that the tables still announce.
func withoutPackets(ts []byte, pid int) (rest []byte) {
	for ; len(ts) >= bitstream.PacketSize; ts = ts[bitstream.PacketSize:] {
		if bitstream.PID(ts) != pid {
			rest = append(rest, ts[:bitstream.PacketSize]...)
		}
	}
	return rest
}

package doctor

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// MaxAge is the age from which yt-dlp counts as outdated: in about that time YouTube changes something that
// breaks it.
const MaxAge = 60 * 24 * time.Hour

// Age returns how old at now a tool is whose version begins with the date of its release, as that of yt-dlp does.
// known is false for another version.
func Age(version string, now time.Time) (age time.Duration, known bool) {
	numbers := parseVersion(version)
	if len(numbers) < 3 || numbers[0] < 2000 {
		return 0, false
	}
	released := time.Date(numbers[0], time.Month(numbers[1]), numbers[2], 0, 0, 0, 0, time.UTC)
	return max(0, now.Sub(released)), true
}

var anyVersion = regexp.MustCompile(`[0-9]+(\.[0-9]+)+[0-9A-Za-z.+~-]{0,40}`)

// Version runs a tool with the argument that makes it print its version, and returns the
// version. Errors: the tool cannot be run, or prints none.
func Version(ctx context.Context, t config.Tool, argument string) (string, error) {
	answer, err := runTool(ctx, tool.Confinement{Network: true}, t.Path, argument)
	if err != nil {
		return "", err
	}
	if version, is := decoderVersion(answer); is {
		return version, nil
	}
	if version := anyVersion.FindString(firstLine(answer)); version != "" {
		return version, nil
	}
	return "", errors.New("it prints no version")
}

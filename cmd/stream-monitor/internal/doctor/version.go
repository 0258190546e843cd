package doctor

import (
	"context"
	"errors"
	"regexp"

	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

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

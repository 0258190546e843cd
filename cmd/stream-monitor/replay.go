package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// replay feeds a recording to the watcher and prints the events. It fails at the
// first observation whose effects differ from the recorded ones.
func replay(c *config.Replay, out console) error {
	file, err := os.Open(c.File) //nolint:gosec // the user names the file to read
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer func() { _ = file.Close() }()

	printEvent := eventPrinter(out.out, c.JSON)
	observations, events := 0, 0
	err = worker.Replay(bufio.NewReader(file), func(m watch.RecordedStep) {
		observations++
		for _, e := range m.Effects {
			if e, ok := e.(watch.EventEmitted); ok {
				events++
				printEvent(e.Event)
			}
		}
	})
	switch {
	case errors.Is(err, worker.ErrDiverged):
		return fmt.Errorf("replay %s: %w", c.File, err)
	case err != nil:
		return fmt.Errorf("%s is not a complete recording (%w); accepted is a file written by: stream-monitor watch --record FILE URL", c.File, err)
	}
	fmt.Fprintf(out.err, "%d observations, %d events, the same effects as recorded\n", observations, events)
	return nil
}

// Package importer registers the monitors or channels of a file, in batches of the public API
// (section 16.6). The gateway judges every registration; this package only divides the
// file and prints the results.
package importer

import (
	"context"
	"fmt"
	"io"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
)

// Gateway registers a batch; apiclient.Client is one.
type Gateway interface {
	RegisterBatch(ctx context.Context, list, contentType string, body []byte, dryRun bool) ([]apiclient.BatchResult, error)
}

// Import sends the batches in order and prints a line for each registration on results,
// and progress on messages. It waits where the gateway's rate limit asks for it. Errors:
// a batch could not be sent or was refused as a whole; some registrations were refused.
func Import(ctx context.Context, gateway Gateway, batches []Batch, dryRun bool, results, messages io.Writer) error {
	registered, refused := 0, 0
	for i, b := range batches {
		if len(batches) > 1 {
			fmt.Fprintf(messages, "batch %d of %d, %d registrations\n", i+1, len(batches), b.Size)
		}
		var answers []apiclient.BatchResult
		err := apiclient.WhenAllowed(ctx, messages, func() (err error) {
			answers, err = gateway.RegisterBatch(ctx, b.List, b.ContentType, b.Body, dryRun)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %d registrations were accepted before this: %w", b.Rows(), registered, err)
		}
		for n, a := range answers {
			row := b.First + n
			if a.Error == nil {
				registered++
				printAccepted(results, row, a)
				continue
			}
			refused++
			fmt.Fprintf(results, "%d\trefused\t%s\t%s: %s\n", row, a.StreamURL+a.Channel, a.Error.Code, a.Error.Message)
		}
	}
	summary := "%d registered, %d refused\n"
	if dryRun {
		summary = "dry run: %d would be registered, %d would be refused; nothing was stored\n"
	}
	fmt.Fprintf(messages, summary, registered, refused)
	if refused > 0 {
		return fmt.Errorf("%d of %d registrations were refused; correct them and import these again", refused, registered+refused)
	}
	return nil
}

func printAccepted(out io.Writer, row int, a apiclient.BatchResult) {
	what, id := a.StreamURL+a.Channel, string(a.MonitorID)+a.ChannelID // a result has one of each
	if id == "" {
		fmt.Fprintf(out, "%d\tvalid\t%s\n", row, what)
		return
	}
	fmt.Fprintf(out, "%d\tregistered\t%s\t%s\n", row, what, id)
}

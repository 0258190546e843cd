package keyring

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of the audit list.
const (
	DefaultPage = 50
	MaxPage     = 100

	expiryBatch   = 500
	finishTimeout = 5 * time.Second
)

// Audit records what the holders of keys do.
type Audit struct {
	store     AuditStore
	retention time.Duration
	log       *slog.Logger
}

// NewAudit returns an Audit whose entries are kept for retention.
func NewAudit(store AuditStore, retention time.Duration, log *slog.Logger) *Audit {
	return &Audit{store, retention, log.With("component", "keyring")}
}

// Begin stores an entry before its request is carried out.
func (a *Audit) Begin(ctx context.Context, e Entry) (seq int64, err error) {
	return a.store.BeginEntry(ctx, e)
}

// Finish stores the status of the response to an entry's request. With 0 it deletes the entry:
// the request was refused, and nothing was done. It goes on after the end of ctx.
func (a *Audit) Finish(ctx context.Context, seq int64, objects []string, status int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := a.store.FinishEntry(ctx, seq, objects, status); err != nil {
		a.log.Warn("the result of a request is missing in the audit list, the request itself was answered: check the database", "entry", seq, "error", err)
	}
}

// List returns a page of entries, newest first, and before of the next page; 0: it is the last
// one. Errors: *monitor.Error InvalidConfig.
func (a *Audit) List(ctx context.Context, before int64, limit int) (page []Entry, next int64, err error) {
	if err := monitor.ValidLimit(limit, MaxPage); err != nil {
		return nil, 0, err
	}
	if page, err = a.store.Entries(ctx, before, limit+1); err != nil {
		return nil, 0, err
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Seq
	}
	return page, next, nil
}

// Expire deletes the entries that have been kept for the retention. The elected gateway runs it.
func (a *Audit) Expire(ctx context.Context) error {
	for {
		n, err := a.store.DeleteEntries(ctx, a.retention, expiryBatch)
		if err != nil {
			return fmt.Errorf("delete old entries of the audit list: %w", err)
		}
		if n < expiryBatch {
			return nil
		}
	}
}

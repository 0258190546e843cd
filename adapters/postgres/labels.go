package postgres

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// labels is the column labels of a monitor or a channel.
type labels monitor.Labels

// haveLabels selects monitors m that have all of the labels of an argument, by idx_monitors_labels if they are few.
const haveLabels = `m.labels @> CAST($%d AS jsonb)`

// Scan implements sql.Scanner. It leaves out values other than texts, which only somebody else can have stored: the
// monitor is worth more than its labels.
func (l *labels) Scan(column any) error {
	raw, is := column.([]byte)
	if !is {
		return fmt.Errorf("labels are a %T", column)
	}
	var stored map[string]any
	if err := json.Unmarshal(raw, &stored); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	*l = labels{}
	for name, value := range stored {
		if text, is := value.(string); is {
			(*l)[name] = text
		}
	}
	return nil
}

// Value implements driver.Valuer.
func (l labels) Value() (driver.Value, error) {
	raw, err := json.Marshal(monitor.Labels(l))
	return string(raw), err
}

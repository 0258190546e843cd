package monitor

import (
	_ "errors"
	_ "github.com/google/uuid"
)

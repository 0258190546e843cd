package kube_test

import (
	_ "github.com/sirupsen/logrus"
	_ "testing"
)

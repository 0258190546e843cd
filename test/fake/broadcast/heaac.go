package broadcast

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// ffmpeg as Debian builds it has no encoder for HE-AAC. So AAC-LC frames of
// half the sampling rate are declared to be the core of HE-AAC: the decoder
// then runs with spectral band replication, and finding no data for it in the
// frames just doubles the rate. What is not tested so is replication itself.
//
// The two are AudioSpecificConfigs (ISO/IEC 14496-3, 1.6.2.1) of 24 kHz mono,
// with their length before them: AAC-LC and, in an extension, no replication;
// or replication to 48 kHz around AAC-LC, filled up with zeros.
var (
	plainConfig = []byte{5, 0x13, 0x08, 0x56, 0xe5, 0x00}
	sbrConfig   = []byte{5, 0x2b, 0x09, 0x88, 0x00, 0x00}
)

// declareHEAAC changes the declaration in every initialisation section of a
// directory.
func declareHEAAC(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "init-*"))
	if err != nil {
		return err
	}
	found := false
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(b, plainConfig) {
			continue // of the picture
		}
		found = true
		if err := os.WriteFile(name, bytes.Replace(b, plainConfig, sbrConfig, 1), 0o644); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("no initialisation section declares AAC-LC of 24 kHz")
	}
	return nil
}

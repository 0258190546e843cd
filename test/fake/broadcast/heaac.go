package broadcast

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// Debian's ffmpeg has no encoder for HE-AAC. Therefore AAC-LC frames of half the
// sampling rate are declared as the core of HE-AAC. The decoder enables spectral
// band replication, finds no data for it and doubles the rate. The replication
// itself stays untested.
//
// Both are AudioSpecificConfigs (ISO/IEC 14496-3, 1.6.2.1) of 24 kHz mono, each
// after its length. plainConfig is AAC-LC with an extension that denies replication.
// sbrConfig is replication to 48 kHz around AAC-LC, padded with zeros.
var (
	plainConfig = []byte{5, 0x13, 0x08, 0x56, 0xe5, 0x00}
	sbrConfig   = []byte{5, 0x2b, 0x09, 0x88, 0x00, 0x00}
)

// declareHEAAC changes the declaration in every audio init section of a directory.
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
			continue // an init section of video
		}
		found = true
		if err := os.WriteFile(name, bytes.Replace(b, plainConfig, sbrConfig, 1), 0o644); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("no init section declares AAC-LC of 24 kHz")
	}
	return nil
}

package importer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"
)

// Charset is how the characters of a file are written.
type Charset string

// The charsets. A byte order mark says more than either.
const (
	UTF8     Charset = "utf-8"
	ShiftJIS Charset = "shift_jis" // as Windows writes it: Excel in Japan saves CSV in it, if nobody chooses UTF-8
)

var (
	markUTF8  = []byte("\xef\xbb\xbf")
	markUTF16 = map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian}
)

// decode returns a file in UTF-8, without its byte order mark. It guesses nothing: most texts in another charset are also
// valid in a third, with other characters. Errors: the file is not written in the charset.
func decode(file []byte, charset Charset) ([]byte, error) {
	if text, is := bytes.CutPrefix(file, markUTF8); is {
		file, charset = text, UTF8
	}
	if len(file) >= 2 {
		if order, is := markUTF16[string(file[:2])]; is {
			return decodeUTF16(file[2:], order)
		}
	}
	if charset == ShiftJIS {
		text, err := japanese.ShiftJIS.NewDecoder().Bytes(file)
		return text, errors.Join(err, unreadable(text))
	}
	line := 0
	for text := range bytes.Lines(file) {
		if line++; !utf8.Valid(text) {
			return nil, fmt.Errorf("line %d is not UTF-8; save the file as \"CSV UTF-8\", or import it with --charset shift_jis if Excel in Japan has saved it as \"CSV\"", line)
		}
	}
	return file, nil
}

func decodeUTF16(file []byte, order binary.ByteOrder) ([]byte, error) {
	if len(file)%2 != 0 {
		return nil, errors.New("the file is UTF-16, but its last character is cut off")
	}
	units := make([]uint16, 0, len(file)/2)
	for pair := range slices.Chunk(file, 2) {
		units = append(units, order.Uint16(pair))
	}
	text := []byte(string(utf16.Decode(units)))
	return text, unreadable(text)
}

// unreadable returns an error that names the line of the first character that could not be decoded.
func unreadable(text []byte) error {
	if at := bytes.IndexRune(text, utf8.RuneError); at >= 0 {
		return fmt.Errorf("line %d has a character that cannot be read; save the file as \"CSV UTF-8\"", 1+bytes.Count(text[:at], []byte("\n")))
	}
	return nil
}

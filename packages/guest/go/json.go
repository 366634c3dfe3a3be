package palisade

import (
	"math"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// An Object is a JSON object. Its values are nil, bool, float64, string, []any and Object; int may be written, too.
type Object = map[string]any

const mostDeep = 128

// ParseJSON reads strict JSON: valid UTF-8, no duplicate keys, nothing after the value, at most 128 levels.
func ParseJSON(text []byte) (value any, ok bool) {
	if !utf8.Valid(text) {
		return nil, false
	}
	reader := reader{text: string(text), ok: true}
	value = reader.value(0)
	reader.space()
	return value, reader.ok && reader.at == len(text)
}

// AppendJSON writes a value with its keys in order. It panics for a number that JSON has no text for.
func AppendJSON(out []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, value)
	case int:
		return strconv.AppendInt(out, int64(value), 10)
	case float64:
		return appendNumber(out, value)
	case string:
		return appendText(out, value)
	case []any:
		out = append(out, '[')
		for index, item := range value {
			if index > 0 {
				out = append(out, ',')
			}
			out = AppendJSON(out, item)
		}
		return append(out, ']')
	case Object:
		return appendObject(out, value)
	}
	panic("Cannot write JSON: expected nil, bool, int, float64, string, []any or Object")
}

func appendObject(out []byte, object Object) []byte {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	out = append(out, '{')
	for index, key := range keys {
		if index > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, key), ':')
		out = AppendJSON(out, object[key])
	}
	return append(out, '}')
}

// The fewest digits that are read back as the same.
func appendNumber(out []byte, value float64) []byte {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		panic("Cannot write JSON: expected a finite number")
	}
	size := math.Abs(value)
	if size == 0 || (size >= 1e-7 && size < 1e21) {
		return strconv.AppendFloat(out, value, 'f', -1, 64)
	}
	return strconv.AppendFloat(out, value, 'e', -1, 64)
}

const hexDigits = "0123456789abcdef"

func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for _, each := range text {
		switch {
		case each == '"' || each == '\\':
			out = append(out, '\\', byte(each))
		case each < 0x20:
			out = append(out, '\\', 'u', '0', '0', hexDigits[each>>4], hexDigits[each&15])
		default:
			out = utf8.AppendRune(out, each)
		}
	}
	return append(out, '"')
}

// A reader of JSON; what is wrong clears ok, and nothing is read after it.
type reader struct {
	text string
	at   int
	ok   bool
}

func (reader *reader) fail() any {
	reader.ok = false
	return nil
}

func (reader *reader) peek() byte {
	if !reader.ok || reader.at >= len(reader.text) {
		return 0
	}
	return reader.text[reader.at]
}

func (reader *reader) space() {
	for each := reader.peek(); each == ' ' || each == '\n' || each == '\r' || each == '\t'; each = reader.peek() {
		reader.at++
	}
}

// Reads this word, if it comes next.
func (reader *reader) takes(word string) bool {
	end := reader.at + len(word)
	if !reader.ok || end > len(reader.text) || reader.text[reader.at:end] != word {
		return false
	}
	reader.at = end
	return true
}

func (reader *reader) requires(word string) {
	if !reader.takes(word) {
		reader.ok = false
	}
}

func (reader *reader) value(depth int) any {
	reader.space()
	if depth > mostDeep {
		return reader.fail()
	}
	switch reader.peek() {
	case 'n':
		reader.requires("null")
		return nil
	case 't':
		reader.requires("true")
		return true
	case 'f':
		reader.requires("false")
		return false
	case '"':
		return reader.string()
	case '[':
		return reader.list(depth)
	case '{':
		return reader.object(depth)
	}
	return reader.number()
}

func (reader *reader) list(depth int) any {
	items := []any{}
	reader.requires("[")
	reader.space()
	if reader.takes("]") {
		return items
	}
	for reader.ok {
		items = append(items, reader.value(depth+1))
		reader.space()
		if reader.takes("]") {
			return items
		}
		reader.requires(",")
	}
	return nil
}

func (reader *reader) object(depth int) any {
	object := Object{}
	reader.requires("{")
	reader.space()
	if reader.takes("}") {
		return object
	}
	for reader.ok {
		reader.space()
		key := reader.string()
		reader.space()
		reader.requires(":")
		value := reader.value(depth + 1)
		if _, isThere := object[key]; isThere {
			return reader.fail()
		}
		object[key] = value
		reader.space()
		if reader.takes("}") {
			return object
		}
		reader.requires(",")
	}
	return nil
}

func (reader *reader) number() any {
	from := reader.at
	reader.takes("-")
	whole := reader.at
	length := reader.digits()
	if length == 0 || (length > 1 && reader.text[whole] == '0') {
		return reader.fail()
	}
	if reader.takes(".") && reader.digits() == 0 {
		return reader.fail()
	}
	if reader.takes("e") || reader.takes("E") {
		if !reader.takes("+") {
			reader.takes("-")
		}
		if reader.digits() == 0 {
			return reader.fail()
		}
	}
	number, err := strconv.ParseFloat(reader.text[from:reader.at], 64)
	if err != nil {
		return reader.fail()
	}
	return number
}

func (reader *reader) digits() int {
	from := reader.at
	for each := reader.peek(); each >= '0' && each <= '9'; each = reader.peek() {
		reader.at++
	}
	return reader.at - from
}

func (reader *reader) string() string {
	reader.requires("\"")
	out := []byte{}
	for reader.ok {
		each := reader.peek()
		reader.at++
		switch {
		case each == '"':
			return string(out)
		case each == '\\':
			out = utf8.AppendRune(out, reader.escape())
		case each < 0x20:
			// Also where the text has ended.
			reader.ok = false
		default:
			out = append(out, each)
		}
	}
	return ""
}

func (reader *reader) escape() rune {
	each := reader.peek()
	reader.at++
	switch each {
	case '"', '\\', '/':
		return rune(each)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		return reader.unicode()
	}
	reader.ok = false
	return 0
}

// A character, or two halves of one; a half alone is refused.
func (reader *reader) unicode() rune {
	first := reader.hex()
	if !utf16.IsSurrogate(first) {
		return first
	}
	reader.requires("\\u")
	both := utf16.DecodeRune(first, reader.hex())
	if both == utf8.RuneError {
		reader.ok = false
	}
	return both
}

func (reader *reader) hex() rune {
	end := reader.at + 4
	if !reader.ok || end > len(reader.text) {
		reader.ok = false
		return 0
	}
	number := rune(0)
	for _, digit := range []byte(reader.text[reader.at:end]) {
		switch {
		case digit >= '0' && digit <= '9':
			number = number<<4 | rune(digit-'0')
		case digit >= 'a' && digit <= 'f':
			number = number<<4 | rune(digit-'a'+10)
		case digit >= 'A' && digit <= 'F':
			number = number<<4 | rune(digit-'A'+10)
		default:
			reader.ok = false
		}
	}
	reader.at = end
	return number
}

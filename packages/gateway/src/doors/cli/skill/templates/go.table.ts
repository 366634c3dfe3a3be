/** What a new skill in Go has. TinyGo builds the package of its source, so the folder is a module of Go. */

export const GO = `// Two tools that only compute. An export is a tool: it takes its input as JSON and gives JSON, or a failure for its caller.
package main

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"skill/src/palisade"
)

// A skill has no main program, but TinyGo expects one.
func main() {}

//go:wasmexport count
func exportCount(place unsafe.Pointer, length uint32) uint64 {
	return palisade.Run(place, length, count)
}

//go:wasmexport slug
func exportSlug(place unsafe.Pointer, length uint32) uint64 { return palisade.Run(place, length, slug) }

// {"text":"…"} → {"characters":n,"lines":n,"words":n}
func count(input palisade.Object) (palisade.Object, error) {
	text, isText := input["text"].(string)
	if !isText {
		return nil, palisade.Fail("wrong-input", "expected an object with a text")
	}
	lines := 0
	if text != "" {
		lines = strings.Count(text, "\\n") + 1
	}
	words := strings.FieldsFunc(text, func(each rune) bool { return each == ' ' || (each >= '\\t' && each <= '\\r') })
	return palisade.Object{
		"characters": utf8.RuneCountInString(text),
		"lines":      lines,
		"words":      len(words),
	}, nil
}

// {"text":"Hello, World!"} → {"slug":"hello-world"}
func slug(input palisade.Object) (palisade.Object, error) {
	text, isText := input["text"].(string)
	if !isText {
		return nil, palisade.Fail("wrong-input", "expected an object with a text")
	}
	parts := strings.FieldsFunc(strings.ToLower(text), func(each rune) bool {
		return (each < 'a' || each > 'z') && (each < '0' || each > '9')
	})
	if len(parts) == 0 {
		return nil, palisade.Fail("no-name", "expected a text with a letter or a digit of ASCII")
	}
	return palisade.Object{"slug": strings.Join(parts, "-")}, nil
}
`;

export const GO_MODULE = `module skill

go 1.21
`;

/** The library, a package of the skill. */
export const GO_LIBRARY = {
  'src/palisade/palisade.go': 'go/palisade.go',
  'src/palisade/json.go': 'go/json.go',
  'src/palisade/host/host.go': 'go/host/host.go',
};

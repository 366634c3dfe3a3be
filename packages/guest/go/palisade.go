// Package palisade is the library for tools in Go: JSON in and out, the host functions, and the allocator for the input.
// It is written for TinyGo, and uses no package of the standard library that needs an operating system.
package palisade

import (
	"encoding/binary"
	"math"
	"unsafe"

	"skill/src/palisade/host"
)

// The kinds of capabilities, for Handle.
const (
	HTTP    int32 = 1
	Secret  int32 = 2
	Storage int32 = 3
	Channel int32 = 4
)

// The levels of the log.
const (
	Debug   int32 = 0
	Info    int32 = 1
	Warning int32 = 2
	Error   int32 = 3
)

// Conditions of a write: always, and only if there is no value.
const (
	Any    float64 = -1
	Absent float64 = 0
)

// A Failure is why a tool failed, for its caller.
type Failure struct{ Code, Message string }

func (failure Failure) Error() string { return failure.Message }

// Fail gives the error that a tool returns to its caller.
func Fail(code, message string) error { return Failure{code, message} }

// A HostError is the negative number that a host function returned: -1 denied, -2 missing, and the others of docs/abi.md.
type HostError int32

func (number HostError) Error() string { return "the host function failed" }

// What the gateway writes to or reads, whatever collects garbage.
var kept [][]byte

// Where the gateway puts the input; nothing is ever freed, because every call has a guest of its own.
//
//go:wasmexport palisade_alloc
func alloc(length uint32) unsafe.Pointer { return keep(make([]byte, length)) }

func keep(bytes []byte) unsafe.Pointer {
	bytes = append(bytes, 0)
	kept = append(kept, bytes)
	return unsafe.Pointer(&bytes[0])
}

// Run reads the input of a tool, and gives its output or reports its failure. Each tool is exported by a function that
// only calls this.
func Run(place unsafe.Pointer, length uint32, tool func(input Object) (Object, error)) uint64 {
	output, err := ended(place, length, tool)
	if err == nil {
		text := AppendJSON(nil, output)
		return uint64(uintptr(keep(text)))<<32 | uint64(len(text))
	}
	failure, isFailure := err.(Failure)
	if !isFailure {
		failure = Failure{"failed", err.Error()}
	}
	text := AppendJSON(nil, Object{"code": failure.Code, "message": failure.Message})
	host.Fail(at(text), size(text))
	return 0
}

func ended(place unsafe.Pointer, length uint32, tool func(input Object) (Object, error)) (Object, error) {
	value, ok := ParseJSON((*[1 << 30]byte)(place)[:length:length])
	input, isObject := value.(Object)
	if !ok || !isObject {
		return nil, Fail("wrong-input", "expected a JSON object")
	}
	return tool(input)
}

// Log writes a line to the log of the call.
func Log(level int32, text string) {
	bytes := []byte(text)
	host.Log(level, at(bytes), size(bytes))
}

// NowMs is when the call began, in milliseconds since 1970.
func NowMs() float64 { return host.ClockMs() }

// Random gives random bytes.
func Random(length uint32) []byte {
	bytes := make([]byte, length)
	host.Random(at(bytes), length)
	return bytes
}

// Config gives a value of the configuration.
func Config(key string) (string, error) {
	bytes := []byte(key)
	value, err := fetch(host.ConfigGet(at(bytes), size(bytes)))
	return string(value), err
}

// Handle gives the handle of a capability by its position in the grant.
func Handle(kind, index int32) (int32, error) { return checked(host.CapabilityHandle(kind, index)) }

// GetStored gives a value with its version.
func GetStored(handle int32, key string) (version float64, value []byte, err error) {
	bytes := []byte(key)
	stored, err := fetch(host.StorageGet(handle, at(bytes), size(bytes)))
	if err != nil {
		return 0, nil, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(stored)), stored[8:], nil
}

// PutStored stores a value if the version is this one, or for Any or Absent.
func PutStored(handle int32, key string, value []byte, version float64) error {
	bytes := []byte(key)
	_, err := checked(host.StoragePut(handle, at(bytes), size(bytes), at(value), size(value), version))
	return err
}

// Send makes a request; the head has "method", "url", "headers" (pairs) and "secret". It gives the head and the body of
// the answer.
func Send(handle int32, head Object, body []byte) (Object, []byte, error) {
	text := AppendJSON(nil, head)
	answer, err := fetch(host.HttpRequest(handle, at(text), size(text), at(body), size(body)))
	if err != nil {
		return nil, nil, err
	}
	end := 4 + binary.LittleEndian.Uint32(answer)
	value, _ := ParseJSON(answer[4:end])
	answered, isObject := value.(Object)
	if !isObject {
		return nil, nil, HostError(-6)
	}
	return answered, answer[end:], nil
}

// The bytes of the length that a host function returned.
func fetch(length int32) ([]byte, error) {
	if _, err := checked(length); err != nil {
		return nil, err
	}
	bytes := make([]byte, length)
	host.ResultRead(at(bytes), size(bytes))
	return bytes, nil
}

func checked(result int32) (int32, error) {
	if result < 0 {
		return 0, HostError(result)
	}
	return result, nil
}

func at(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Pointer(&bytes[0])
}

func size(bytes []byte) uint32 { return uint32(len(bytes)) }

// Package host has the functions of palisade as they are imported; docs/abi.md describes each. One that is not called is
// not imported, so it needs no grant.
package host

import "unsafe"

// imports:begin

//go:wasmimport palisade_v1 capability_count
func CapabilityCount(kind int32) int32

//go:wasmimport palisade_v1 capability_handle
func CapabilityHandle(kind int32, index int32) int32

//go:wasmimport palisade_v1 result_read
func ResultRead(place unsafe.Pointer, placeLength uint32) int32

//go:wasmimport palisade_v1 fail
func Fail(error unsafe.Pointer, errorLength uint32)

//go:wasmimport palisade_v1 log
func Log(level int32, text unsafe.Pointer, textLength uint32)

//go:wasmimport palisade_v1 clock_ms
func ClockMs() float64

//go:wasmimport palisade_v1 random
func Random(place unsafe.Pointer, placeLength uint32)

//go:wasmimport palisade_v1 config_get
func ConfigGet(key unsafe.Pointer, keyLength uint32) int32

//go:wasmimport palisade_v1 http_request
func HttpRequest(handle int32, head unsafe.Pointer, headLength uint32, body unsafe.Pointer, bodyLength uint32) int32

//go:wasmimport palisade_v1 secret_read
func SecretRead(handle int32) int32

//go:wasmimport palisade_v1 storage_get
func StorageGet(handle int32, key unsafe.Pointer, keyLength uint32) int32

//go:wasmimport palisade_v1 storage_put
func StoragePut(handle int32, key unsafe.Pointer, keyLength uint32, value unsafe.Pointer, valueLength uint32, version float64) int32

//go:wasmimport palisade_v1 storage_delete
func StorageDelete(handle int32, key unsafe.Pointer, keyLength uint32, version float64) int32

//go:wasmimport palisade_v1 storage_list
func StorageList(handle int32, prefix unsafe.Pointer, prefixLength uint32, after unsafe.Pointer, afterLength uint32, limit int32) int32

//go:wasmimport palisade_v1 channel_publish
func ChannelPublish(handle int32, message unsafe.Pointer, messageLength uint32) int32

//go:wasmimport palisade_v1 channel_receive
func ChannelReceive(handle int32, waitMs int32) int32

// imports:end

// Package messages is the protobuf schema of everything that crosses between
// nodes, the code generated from it, and the only border between protobuf and
// the plain structs of the protocol cores.
//
// What the directory's shards and the nodes say to each other travels on the
// data connections as bytes: AppendDirectory, MarshalDirectory and
// UnmarshalDirectory. The other areas travel through the actors' remoting,
// which takes generated messages; functions here turn them into what the cores
// take, and back.
//
// All decoding checks what the cores rely on (lengths of ids, known values of
// enumerations, numbers of dimensions) and fails with a phalanx.ErrInternal
// that names the field. It never panics, whatever the bytes are. What is
// decoded shares no memory with what it was decoded from, unless a function
// says otherwise. All functions are safe for concurrent use.
package messages

//go:generate go run ../internal/tools/protogen *.proto

// Package messages is the protobuf schema of everything that crosses between
// nodes, the code generated from it, and the only border between protobuf and
// the plain structs of the protocol cores.
//
// Messages between the directory's shards and the nodes travel on the data
// connections as bytes: AppendDirectory, MarshalDirectory and
// UnmarshalDirectory. The other areas travel through the actors' remoting,
// which takes generated messages; functions here turn them into the cores'
// events, and back.
//
// All decoding checks the conditions on which the cores rely (lengths of ids, known
// values of enumerations, numbers of dimensions) and fails with a phalanx.ErrInternal
// that names the field. It never panics, whatever the bytes are. That an object
// id is printable was checked where it was given.
//
// UnmarshalDirectory shares no memory with the bytes that it is given. A
// generated message and the struct that it was made from or made into can
// share slices; neither is to be changed afterwards. All functions are safe for
// concurrent use.
package messages

//go:generate go run ../internal/tools/protogen *.proto

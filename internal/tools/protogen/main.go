// Command protogen generates Go code from .proto files without protoc: it
// compiles them with protocompile and hands the result to the protoc-gen-go
// that go.mod pins. Run it as
//
//	go run ./internal/tools/protogen messages/*.proto
//
// from anywhere in the module; it expands patterns itself, because go generate
// does not. Each x.proto becomes an x.pb.go beside it. What it writes depends
// only on the files and the versions in go.mod.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run generates the code for all files that match patterns.
func run(ctx context.Context, patterns []string) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := moduleRoot(wd)
	if err != nil {
		return err
	}
	files, err := expand(root, wd, patterns)
	if err != nil {
		return err
	}
	req, err := compile(ctx, root, files)
	if err != nil {
		return err
	}
	resp, err := plugin(ctx, root, req)
	if err != nil {
		return err
	}
	for _, f := range resp.File {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot returns the closest folder at or above dir that has a go.mod.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("there is no go.mod at or above %s", dir)
		}
	}
}

// expand returns the files that match patterns, which are relative to wd, by
// their slash-separated paths below root: the names that imports use and that
// end up in the generated code.
func expand(root, wd string, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, fmt.Errorf("usage: protogen FILE.proto [FILE.proto]")
	}
	var files []string
	for _, pattern := range patterns {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(wd, pattern)
		}
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		if len(matches) == 0 {
			return nil, fmt.Errorf("%s: no such file", pattern)
		}
		for _, m := range matches {
			rel, err := filepath.Rel(root, m)
			if err != nil || !filepath.IsLocal(rel) {
				return nil, fmt.Errorf("%s is not below %s", m, root)
			}
			files = append(files, filepath.ToSlash(rel))
		}
	}
	return files, nil
}

// compile returns the request that protoc would send to a plugin for files.
func compile(ctx context.Context, root string, files []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // carries the comments
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) { // imports first, as plugins demand
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		req.ProtoFile = append(req.ProtoFile, descriptor(f))
	}
	for _, f := range compiled {
		add(f)
	}
	return req, nil
}

// descriptor prefers the message that the compiler made, which has the
// comments and the json names just as protoc writes them.
func descriptor(f protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	if made, ok := f.(interface {
		FileDescriptorProto() *descriptorpb.FileDescriptorProto
	}); ok {
		return made.FileDescriptorProto()
	}
	return protodesc.ToFileDescriptorProto(f)
}

// plugin runs protoc-gen-go on req.
func plugin(ctx context.Context, root string, req *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	in, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", "protoc-gen-go")
	cmd.Dir, cmd.Stdin, cmd.Stderr = root, bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool protoc-gen-go: %w\n%s", err, stderr.String())
	}
	resp := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out, resp); err != nil {
		return nil, fmt.Errorf("the answer of protoc-gen-go: %w", err)
	}
	if resp.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", resp.GetError())
	}
	return resp, nil
}

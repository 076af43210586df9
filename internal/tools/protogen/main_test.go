package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const testdata = "internal/tools/protogen/testdata/"

func here(t *testing.T) (root, wd string) {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err = moduleRoot(wd)
	if err != nil {
		t.Fatal(err)
	}
	return root, wd
}

func TestExpandNamesFilesFromTheRoot(t *testing.T) {
	root, wd := here(t)
	want := []string{testdata + "base.proto", testdata + "whole.proto"}
	for from, pattern := range map[string]string{wd: "testdata/*.proto", root: testdata + "*.proto"} {
		if got, err := expand(root, from, []string{pattern}); err != nil || !slices.Equal(got, want) {
			t.Errorf("expand(%s) = %v, %v, want %v", pattern, got, err, want)
		}
	}
	for _, bad := range []string{"testdata/none*.proto", "testdata/none.proto", "[", filepath.Dir(root)} {
		if got, err := expand(root, wd, []string{bad}); err == nil {
			t.Errorf("expand(%s) = %v, want an error", bad, got)
		}
	}
	if _, err := expand(root, wd, nil); err == nil {
		t.Error("expand without patterns: want an error")
	}
}

func TestImportsComeFirst(t *testing.T) {
	root, _ := here(t)
	req, err := compile(t.Context(), root, []string{testdata + "whole.proto"})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, f := range req.ProtoFile {
		order = append(order, f.GetName())
	}
	want := []string{"google/protobuf/duration.proto", testdata + "base.proto", testdata + "whole.proto"}
	if !slices.Equal(order, want) {
		t.Errorf("files %v, want %v", order, want)
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "bad.proto"), []byte(`syntax = "proto3"; message A { B b = 1; }`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := compile(t.Context(), root, []string{"bad.proto"}); err == nil || !strings.Contains(err.Error(), "bad.proto:1:") {
		t.Errorf("error %v, want one that names bad.proto:1", err)
	}
	if _, err := moduleRoot(string(filepath.Separator)); err == nil {
		t.Error("a module root was found at /")
	}
}

// The generated code must be the same wherever it is made.
func TestGeneratedCodeNamesNoMachine(t *testing.T) {
	root, wd := here(t)
	files, err := expand(root, wd, []string{"testdata/*.proto"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := compile(t.Context(), root, files)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := plugin(t.Context(), root, req)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.File) != len(files) {
		t.Fatalf("%d files were generated, want %d", len(resp.File), len(files))
	}
	for i, f := range resp.File {
		if want := strings.TrimSuffix(files[i], ".proto") + ".pb.go"; f.GetName() != want {
			t.Errorf("file %s, want %s", f.GetName(), want)
		}
		if strings.Contains(f.GetContent(), root) {
			t.Errorf("%s contains %s", f.GetName(), root)
		}
	}
	whole := resp.File[1].GetContent()
	for _, want := range []string{"// source: " + files[1], "// Whole has parts.", "type Whole struct"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%s lacks %q", files[1], want)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/reservation"
)

// storeVar makes the program the store's process, with these seats of each row.
const storeVar = "PHALANX_RESERVATION_STORE"

// setting of the store's process.
type setting struct{ Each, Seats int }

// listening is what the store's process says.
type listening struct{ Address string }

func isStore() bool { return os.Getenv(storeVar) != "" }

// beStore is the store's process, until its parent ends.
func beStore(as string) error {
	var set setting
	if err := json.Unmarshal([]byte(as), &set); err != nil {
		return err
	}
	ctx, end := children.Lifetime(0)
	defer end()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: reservation.Handler(reservation.NewStore(reservation.AllRows(set.Each), set.Seats)), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	children.Say(listening{l.Addr().String()})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

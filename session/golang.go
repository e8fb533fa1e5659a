package session

import (
	"errors"

	"hdb/inferior"
)

var errGo = errors.New("Go programs are not stepped by line yet: use stepi, finish or break")

func (s *Session) stepGo(int, bool) (*Report, error)         { return nil, errGo }
func (s *Session) finishGo() (*Report, error)                { return nil, errGo }
func (s *Session) Goroutines() ([]inferior.Goroutine, error) { return nil, errGo }

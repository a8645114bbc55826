# Every target is one line that calls tools/dev.py, which works without make too.
PYTHON ?= python3
DEV = $(PYTHON) tools/dev.py

.PHONY: book preview lab gallery execute test test-machines quarto vendor hooks

book: ; $(DEV) book
preview: ; $(DEV) preview
lab: ; $(DEV) lab
gallery: ; $(DEV) gallery
execute: ; $(DEV) execute $(CHAPTERS)
test: ; $(DEV) test $(LAYERS)
test-machines: ; $(DEV) test-machines
quarto: ; $(DEV) quarto
vendor: ; $(DEV) vendor
hooks: ; $(DEV) hooks

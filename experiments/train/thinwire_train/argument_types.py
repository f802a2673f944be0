"""Kinds of numbers for argparse, each with what would be right in its complaint."""

import argparse


def number(convert, is_right, right):
    def parse_number(text):
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not is_right(value):
            raise argparse.ArgumentTypeError(f"{text} ({right} is right)")
        return value

    return parse_number


count = number(int, lambda value: value >= 0, "a whole number, 0 or more,")
size = number(int, lambda value: value >= 1, "a whole number, 1 or more,")
positive = number(float, lambda value: 0 < value < float("inf"), "a number above 0")
not_negative = number(float, lambda value: 0 <= value < float("inf"), "a number, 0 or more,")
share = number(float, lambda value: 0 <= value < 1, "a number from 0 to below 1")

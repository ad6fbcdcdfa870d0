"""Who is in which part, which the images alone do not say."""

from dataclasses import replace

from attacks.evaluation.contents import SPLIT, data_contents, known_by


def swapped(data):
    """The same images by other lists: who was tested is learnt from."""
    other = {"train": "test", "test": "train", "validation": "validation"}
    frame = data.table.frame.assign(part=data.table.frame["part"].map(other))
    return replace(data, table=data.table.with_frame(frame))


def test_lists_of_a_data_set_tell_it_apart_and_what_options_say_does_not(data):
    again = swapped(data)
    assert again.table.fingerprint == data.table.fingerprint == known_by(data)
    assert known_by(again) != known_by(data)
    one, other = data_contents(data), data_contents(again)
    assert {key for key in one if one[key] != other[key]} == {SPLIT}

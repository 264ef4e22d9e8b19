"""Check which items a sample takes."""

from collections import Counter

from rubriclab.model.data import DataSet, Item
from rubriclab.runs.loading import drawn_items


def answers(prompts: int, each: int) -> DataSet:
    items = [
        Item(f"{prompt}{k}", f"answer {k} to {prompt}", prompt=f"p{prompt}")
        for prompt in range(prompts)
        for k in range(each)
    ]
    return DataSet("d", tuple(items))


def of_prompts(dataset: DataSet) -> list[int]:
    """Return how many items each prompt of a sample has, least first."""
    return sorted(Counter(item.prompt for item in dataset.items).values())


def test_each_prompt_gives_one_answer_before_any_gives_two() -> None:
    data = answers(prompts=10, each=3)
    for seed in range(5):
        assert of_prompts(drawn_items(data, 8, seed)) == [1] * 8
        assert of_prompts(drawn_items(data, 10, seed)) == [1] * 10
        assert of_prompts(drawn_items(data, 14, seed)) == [1] * 6 + [2] * 4
        assert of_prompts(drawn_items(data, 99, seed)) == [3] * 10
    first = drawn_items(data, 8, 0)
    assert first == drawn_items(data, 8, 0)
    assert first != drawn_items(data, 8, 1)
    # Not always the first answer of a prompt, and in the data's own order.
    assert len({item.item_id[1] for item in first.items}) > 1
    assert [*first.items] == sorted(first.items, key=data.items.index)


def test_prompts_stay_whole_where_a_call_shows_several_answers() -> None:
    sample = drawn_items(answers(prompts=10, each=3), 8, 0, whole_prompts=True)
    assert of_prompts(sample) == [3, 3]


def test_criteria_of_one_text_stay_together() -> None:
    items = [
        Item(f"{text}", f"text {text}", criterion=name, block=f"{text}", prompt=f"p{text % 2}")
        for text in range(4)
        for name in ("a", "b")
    ]
    sample = drawn_items(DataSet("d", tuple(items)), 4, 0)
    assert sorted(Counter(item.item_id for item in sample.items).values()) == [2, 2]
    assert {item.prompt for item in sample.items} == {"p0", "p1"}
